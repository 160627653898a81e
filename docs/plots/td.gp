# Draws the plot of temporal differences in docs/results/temporal-differences.md from td.dat:  cd docs/plots && gnuplot td.gp
# (Debian: gnuplot-nox). Lines of td.dat: environment, method, epsilon, share of the run, mean error, least, most.
set style line 1 lc rgb "#000000" lw 1.8 dt 2
set style line 2 lc rgb "#0072b2" lw 2.2
set style line 3 lc rgb "#d55e00" lw 2.2
set style line 4 lc rgb "#009e73" lw 1.8
set style fill transparent solid 0.15 noborder
set terminal svg size 980,420 font "sans,13" noenhanced background "#ffffff"
set output "td.svg"
set multiplot layout 1,2
set grid lc rgb "#dddddd" lw 0.6
set logscale y
set xrange [0:1]
set yrange [0.002:0.6]
set xlabel "share of the run"
set ylabel "projected Bellman error"
of(environment, method) = sprintf("< grep '^%s %s 1 ' td.dat", environment, method)
do for [environment in "cartpole acrobot"] {
  set title environment.", epsilon 1, seeds 1 to 3"
  plot of(environment, "private-diff-noiseless") u 4:5 w l ls 1 t "private-diff-noiseless", \
       of(environment, "dp-sgda") u 4:6:7 w filledcurves lc rgb "#0072b2" notitle, \
       of(environment, "private-diff") u 4:6:7 w filledcurves lc rgb "#d55e00" notitle, \
       of(environment, "dp-sgda") u 4:5 w l ls 2 t "dp-sgda", \
       of(environment, "private-diff") u 4:5 w l ls 3 t "private-diff", \
       of(environment, "dptd") u 4:5 w l ls 4 t "dptd"
}
unset multiplot
