# Draws the plots of docs/results/zo-o2nc.md from the .dat files here:  cd docs/plots && gnuplot zo-o2nc.gp
# (Debian: gnuplot-nox).
set style line 1 lc rgb "#000000" lw 1.6 pt 7 ps 0.8
set style line 2 lc rgb "#0072b2" lw 1.6 pt 5 ps 0.8
set style line 3 lc rgb "#56b4e9" lw 1.6 pt 9 ps 0.9
set style line 4 lc rgb "#009e73" lw 1.6 pt 11 ps 0.9
set style line 5 lc rgb "#8fb000" lw 1.6 pt 13 ps 1.0
set style line 6 lc rgb "#e69f00" lw 1.6 pt 4 ps 0.8
set style line 7 lc rgb "#d55e00" lw 1.6 pt 6 ps 0.8
set style line 8 lc rgb "#cc79a7" lw 1.6 pt 8 ps 0.9
systems = "NP R V OT O X P N"
what = "'no noise (NP)' 'closed form (R)' 'haar, clipped (V)' 'haar, Toeplitz (OT)' 'haar (O)' 'iid, exact (X)' 'iid, paper (P)' 'naive (N)'"
best(rho) = sprintf("awk -v dim=16 -v rho=%s -f best.awk zo-o2nc-phase.dat", rho)
of(system, rho) = sprintf("< %s | grep '^%s '", best(rho), system)
reference(system, rho) = sprintf("< grep '^%s ' zo-o2nc-reference.dat | awk '$3 == %s || $3 == 0'", system, rho)
grid = "set grid lc rgb '#dddddd' lw 0.6"

set terminal svg size 900,420 font "sans,13" noenhanced background "#ffffff"
set output "zo-o2nc-records.svg"
set multiplot
@grid
set logscale y
set xrange [15.6:20.4]
set yrange [0.018:0.3]
set xtics ("2^16" 16, "2^18" 18, "2^20" 20)
set ytics (0.02, 0.03, 0.05, 0.1, 0.2, 0.3)
set xlabel "records M"
set ylabel "mean |smoothed gradient|"
set title "rho = 1"
set lmargin at screen 0.12; set rmargin at screen 0.39
unset key
plot for [i=1:8] reference(word(systems, i), "1") using 2:4 with lines ls i, \
     for [i=1:8] of(word(systems, i), "1") using 2:4 with points ls i
set title "rho = 0.25"
set lmargin at screen 0.47; set rmargin at screen 0.74
set key at screen 0.755, 0.75 left reverse Left samplen 1.6 spacing 1.2
set ylabel ""
plot for [i=1:8] reference(word(systems, i), "0.25") using 2:4 with lines ls i notitle, \
     for [i=1:8] of(word(systems, i), "0.25") using 2:4 with points ls i notitle, \
     for [i=1:8] 1/0 with linespoints ls i title word(what, i)
unset multiplot
unset lmargin
unset rmargin
unset logscale

set terminal svg size 940,380 font "sans,13" noenhanced background "#ffffff"
set output "zo-o2nc-systems.svg"
set multiplot layout 1,2
unset key
set style data histogram
set style fill solid 0.8 noborder
set boxwidth 0.7
set xrange [-0.6:8.6]
set xtics ("NP" 0, "R" 1, "V" 2, "K&S" 3, "OT" 4, "O" 5, "X" 6, "P" 7, "N" 8) nomirror
set xlabel "system"
order = "NP R V K&S OT O X P N"
row(i) = of(word(order, i), "1")." | awk '$2 == 18'"
set ytics auto
set yrange [0:0.16]
set title "stationarity, M = 2^18, rho = 1"
set ylabel "mean |smoothed gradient|"
plot for [i=1:9] row(i) using (i - 1):4 with boxes lc rgb "#0072b2"
set yrange [0:0.7]
set title "loss at the end (1.06 at the start)"
set ylabel "loss"
plot for [i=1:9] row(i) using (i - 1):5 with boxes lc rgb "#d55e00"
unset multiplot

set terminal svg size 940,400 font "sans,13" noenhanced background "#ffffff"
set output "zo-o2nc-networks.svg"
set multiplot layout 1,2
@grid
set style data points
set key default
set key bottom right
set yrange [0:1.03]
set ytics 0.2
set ylabel "accuracy on test records"
set title "MNIST 0 or 1, ramp loss"
set logscale x
set xrange [0.4:20]
set xtics ("0.5" 0.5, "1" 1, "2" 2, "4" 4, "8" 8, "none" 16) mirror
set xlabel "epsilon, delta = 1e-5"
run(method) = sprintf("< grep '^mnist %s ' zo-o2nc-networks.dat", method)
plot run("zo-o2nc") using ($3 * 0.96):6 ls 2 title "zo-o2nc", run("zo-naive") using ($3 * 1.04):6 ls 7 title "zo-naive", \
     run("zo-o2nc-noiseless") using (15.3):6 ls 1 title "zo-o2nc-noiseless", \
     run("zo-ks") using (16.7):6 ls 8 title "zo-ks"
set title "Adult, absolute loss"
set yrange [0.3:0.55]
set ytics 0.05
set ylabel "loss on test records"
of_adult(method) = sprintf("< grep '^a9a %s ' zo-o2nc-networks.dat", method)
set key top right
plot of_adult("zo-o2nc") using 3:5 ls 2 title "zo-o2nc", \
     of_adult("zo-o2nc-noiseless") using (16):5 ls 1 title "zo-o2nc-noiseless", \
     0.4724 with lines lc rgb "#888888" dt 2 title "constant -1"
unset multiplot
