# Draws the plots of docs/results/zo-hidden.md from the .dat files here:  cd docs/plots && gnuplot zo-hidden.gp
# (Debian: gnuplot-nox).
set style line 1 lc rgb "#0072b2" lw 2.2 pt 5 ps 0.8
set style line 2 lc rgb "#000000" lw 1.8 pt 7 ps 0.8
set style line 3 lc rgb "#d55e00" lw 1.4 dt 2 pt 6 ps 0.8
set style line 4 lc rgb "#e69f00" lw 1.4 dt 2 pt 4 ps 0.8
set style line 5 lc rgb "#cc79a7" lw 1.4 dt 4 pt 8 ps 0.9
set style line 6 lc rgb "#009e73" lw 1.8 pt 9 ps 0.9
set style line 7 lc rgb "#56b4e9" lw 1.8 pt 11 ps 0.9
set style line 8 lc rgb "#888888" lw 1.8 pt 13 ps 0.9
grid = "set grid lc rgb '#dddddd' lw 0.6"
curve(kind) = sprintf("< grep '^%s ' zo-hidden-epsilon.dat", kind)

set terminal svg size 980,440 font "sans,13" noenhanced background "#ffffff"
set output "zo-hidden-epsilon.svg"
set multiplot layout 1,2
@grid
set logscale xy
set xrange [1:1e6]
set xtics ("1" 1, "100" 100, "10^4" 1e4, "10^6" 1e6)
set yrange [0.005:3000]
set ytics ("0.01" 0.01, "0.1" 0.1, "1" 1, "10" 10, "100" 100)
set xlabel "steps T"
set ylabel "epsilon, delta = 1e-5"
set title "K = 200, m = 0.9"
set key top left reverse Left samplen 1.8 font ",11"
plot curve("composed") using 4:5 with lines ls 2 title "certified: composition", \
     curve("ours 200 0.9") using 4:5 with lines ls 1 title "certified: best bound", \
     curve("paper 200") using 3:5 with lines ls 3 title "paper's composition, NOT A CERTIFICATE", \
     curve("paper 200") using 3:4 with lines ls 4 title "Theorem 3.2, NOT A CERTIFICATE", \
     curve("paper 200") using 3:8 with lines ls 5 title "corollary's route, NOT A CERTIFICATE"
set title "certified: best bound, by K and convexity"
set key top left
plot curve("composed") using 4:5 with lines ls 2 title "composition (any K)", \
     curve("ours 1 0.9") using 4:5 with lines ls 8 title "K = 1, m = 0.9", \
     curve("ours 50 0.9") using 4:5 with lines ls 6 title "K = 50, m = 0.9", \
     curve("ours 200 0.9") using 4:5 with lines ls 1 title "K = 200, m = 0.9", \
     curve("ours 1000 0.9") using 4:5 with lines ls 7 title "K = 1000, m = 0.9", \
     curve("ours 200 0") using 4:5 with lines lc rgb "#8fb000" lw 1.8 title "K = 200, convex (m = 0)"
unset multiplot
unset logscale

set terminal svg size 980,420 font "sans,13" noenhanced background "#ffffff"
set output "zo-hidden-a9a.svg"
set multiplot layout 1,2
@grid
noise(kind) = sprintf("< grep '^%s ' zo-hidden-noise.dat", kind)
runs(system) = sprintf("< grep '^a9a %s ' zo-hidden-runs.dat", system)
set logscale xy
set xrange [100:1e5]
set xtics ("100" 100, "1000" 1000, "10^4" 1e4, "10^5" 1e5)
set yrange [3:200]
set ytics (3, 10, 30, 100)
set xlabel "steps T"
set ylabel "noise multiplier"
set title "noise that epsilon = 4 needs, K = 64, d = 123"
set key top left reverse Left samplen 1.8 font ",11"
plot noise("T") using 2:3 with linespoints ls 2 title "composition", \
     noise("T") using 2:5 with points ls 6 title "hidden, no regulariser (falls back)", \
     noise("T") using 2:4 with linespoints ls 1 title "hidden, l2 = 0.005"
unset logscale y
set xrange [0.4:10]
set xtics (0.5, 1, 2, 4, 8)
set yrange [0.3:0.78]
set ytics 0.05
set xlabel "epsilon, delta = 1e-5"
set ylabel "test loss"
set title "Adult (a9a), logistic regression"
set key top right
of64(system) = sprintf("< grep '^a9a %s 64 stiefel ' zo-hidden-runs.dat", system)
plot of64("composed") using ($5 * 1.03):7 ls 2 title "l2 = 0.005: composition, 1500 steps", \
     of64("hidden") using ($5 * 0.97):7 ls 1 title "hidden, 1500 steps", \
     of64("poisson") using 5:7 ls 6 title "Poisson batches, 300 steps", \
     runs("dp-zo") using ($5 * 1.03):7 ls 5 title "no l2: DP-ZO", \
     runs("dpzero") using ($5 * 0.97):7 ls 4 title "DPZero", \
     runs("dp-sgd") using 5:7 ls 8 title "dp-sgd (first order)"
unset multiplot
