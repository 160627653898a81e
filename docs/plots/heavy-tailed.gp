# Draws the plots of docs/results/heavy-tailed.md:  cd docs/plots && gnuplot heavy-tailed.gp   (Debian: gnuplot-nox).
set style line 1 lc rgb "#0072b2" lw 1.8 pt 7 ps 0.9
set style line 2 lc rgb "#009e73" lw 1.8 pt 5 ps 0.9
set style line 3 lc rgb "#d55e00" lw 1.8 pt 9 ps 0.9
set style line 4 lc rgb "#000000" lw 1.6 dt 2
set style line 5 lc rgb "#d55e00" lw 1.6 dt 2
set style line 6 lc rgb "#cc79a7" lw 1.8 pt 11 ps 0.9
set style line 7 lc rgb "#888888" lw 1.4 dt 4
set grid lc rgb '#dddddd' lw 0.6
set key samplen 1.8 font ",10"

slopes(what) = sprintf("< grep '^%s ' heavy-tailed-slopes.dat", what)
set terminal svg size 980,760 font "sans,13" noenhanced background "#ffffff"
set output "heavy-tailed-slopes.svg"
set multiplot layout 2,2
set xlabel "k"
set ylabel "slope"
set xrange [1.5:8.5]
set xtics (2, 3, 4, 8)
do for [axis in "n mu d"] {
  fitted = axis eq "n" ? 3 : axis eq "mu" ? 4 : 5
  predicted = axis eq "d" ? 7 : 6
  set title "linear regression: slope in ".axis
  if (axis eq "d") { set key bottom right } else { set key top right }
  plot slopes("huber") using 2:fitted with points ls 1 title "huber, fitted", \
       slopes("absolute") using 2:fitted with points ls 2 title "absolute, fitted", \
       slopes("huber") using 2:predicted with lines ls 4 title "both, predicted", \
       slopes("squared") using 2:fitted with points ls 3 title "squared, fitted", \
       slopes("squared") using 2:predicted with lines ls 5 title "squared, predicted"
}
set title "mean of Pareto numbers"
set xrange [2:4.2]
set xtics (2.2, 3, 4)
set key center right
plot slopes("mean") using 2:3 with points ls 1 title "n, fitted", \
     slopes("mean") using 2:4 with points ls 2 title "mu, fitted", \
     slopes("mean") using 2:6 with lines ls 4 title "both, predicted", \
     slopes("mean") using 2:5 with points ls 3 title "d, fitted", \
     slopes("mean") using 2:7 with lines ls 5 title "d, predicted"
unset multiplot

instance(c) = sprintf("< awk '$1 == \"%s\"' heavy-tailed-instance.dat", c)
cell(labels, epsilon) = sprintf("< awk '$1 == \"%s\" && $2 == %s && $3 == 17 && $4 == 20 && $5 > 0' heavy-tailed-clips.dat", labels, epsilon)
median(labels, epsilon) = sprintf("< awk '$1 == \"%s\" && $2 == %s && $3 == 17 && $4 == 20 && $5 == 0 { print 0.8, $6; print 80, $6 }' heavy-tailed-clips.dat", labels, epsilon)
adult(method) = sprintf("< awk '$1 == \"adult\" && $2 == \"%s\" && $3 > 0' heavy-tailed-clips.dat", method)
set terminal svg size 980,400 font "sans,12" noenhanced background "#ffffff"
set output "heavy-tailed-clips.svg"
set multiplot layout 1,3
set logscale xy
set title "hardest instance"
set xlabel "records n"
set ylabel "excess risk / p^(2/3)"
set xrange [1e4:2e6]
set xtics ("2^14" 16384, "2^16" 65536, "2^18" 262144, "2^20" 1048576)
set yrange [0.001:2]
set ytics (0.001, 0.01, 0.1, 1)
set key center right
plot instance("0.1") using 2:3 with linespoints ls 3 title "c = 0.1", \
     instance("3") using 2:3 with linespoints ls 2 title "c = 3", \
     instance("30") using 2:3 with linespoints ls 1 title "c = 30"
set title "logistic regression, n = 2^17, T = 20"
set xlabel "clip_records"
set ylabel "excess risk"
set xrange [0.8:80]
set xtics (1, 4, 16, 32, 64)
set yrange [1e-4:0.3]
set ytics ("0.0001" 1e-4, "0.001" 1e-3, "0.01" 1e-2, "0.1" 0.1)
set key top right font ",9"
plot cell("symmetric", "0.5") using 5:6 with linespoints ls 1 title "symmetric, 0.5", \
     cell("skewed", "0.5") using 5:6 with linespoints ls 3 title "skewed, 0.5", \
     cell("symmetric", "2") using 5:6 with linespoints ls 2 title "symmetric, 2", \
     cell("skewed", "2") using 5:6 with linespoints ls 6 title "skewed, 2", \
     median("symmetric", "0.5") using 1:2 with lines ls 4 title "median, symmetric, 0.5", \
     median("skewed", "0.5") using 1:2 with lines ls 5 title "median, skewed, 0.5"
set title "Adult, capital gains in thousands"
set xlabel "public clip"
set ylabel "test loss"
set xrange [0.07:150]
set xtics (0.1, 1, 10, 100)
set yrange [0.3:2.5]
set ytics (0.3, 0.4, 0.5, 0.7, 1, 1.5, 2)
set key top left Left reverse
plot adult("clipped-gd") using 3:(($4 + $5) / 2):4:5 with yerrorlines ls 1 title "clipped-gd", \
     adult("dp-sgd") using 3:(($4 + $5) / 2):4:5 with yerrorlines ls 3 title "dp-sgd", \
     0.340 with lines ls 4 title "clipped-gd, private choice", \
     0.332 with lines ls 7 title "sgd, not private"
unset multiplot
