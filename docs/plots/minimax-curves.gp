# Draws the plots of docs/results/minimax_curves.md from minimax-curves.dat:  cd docs/plots && gnuplot minimax-curves.gp
# (Debian: gnuplot-nox). Lines of minimax-curves.dat (curves.awk): config, method, epsilon, epoch, mean AUC, least, greatest.
set style line 1 lc rgb "#0072b2" lw 2
set style line 2 lc rgb "#009e73" lw 2
set style line 3 lc rgb "#d55e00" lw 2
set style line 4 lc rgb "#cc79a7" lw 2
set style line 5 lc rgb "#555555" lw 1.6 dt 2
set style fill transparent solid 0.18 noborder
set grid lc rgb "#dddddd" lw 0.6
set key bottom right samplen 1.6 font ",10"
set xlabel "epochs" offset 0,0.6
set ytics 0.05
configs = "mnist fashion-mnist mnist-imbalanced fashion-mnist-imbalanced"
of(config, method, epsilon) = sprintf("< grep '^%s %s %s ' minimax-curves.dat", config, method, epsilon)
least(config) = config[1:1] eq "f" ? 0.85 : (strstrt(config, "imb") ? 0.75 : 0.9)

# Both methods, a row an epsilon
set terminal svg size 1080,1200 font "sans,12" noenhanced background "#ffffff"
set output "minimax-curves.svg"
set multiplot layout 5,4
do for [epsilon in "0.5 1 5 10"] {
  do for [config in configs] {
    set title config.", epsilon ".epsilon offset 0,-0.6
    set yrange [least(config):1]
    plot of(config, "dp-sgda", epsilon) u 4:6:7 w filledcurves lc rgb "#0072b2" notitle, \
         of(config, "private-diff", epsilon) u 4:6:7 w filledcurves lc rgb "#009e73" notitle, \
         of(config, "dp-sgda", epsilon) u 4:5 w l ls 1 t "dp-sgda", \
         of(config, "private-diff", epsilon) u 4:5 w l ls 2 t "private-diff"
  }
}
do for [config in configs] {
  set title config.", no noise" offset 0,-0.6
  set yrange [least(config):1]
  plot of(config, "sgda", "0") u 4:5 w l ls 1 t "dp-sgda", of(config, "diff", "0") u 4:5 w l ls 2 t "private-diff"
}
unset multiplot

# private-diff at all epsilons
set terminal svg size 1080,300 font "sans,12" noenhanced background "#ffffff"
set output "minimax-curves-epsilon.svg"
set multiplot layout 1,4
do for [config in configs] {
  set title config.", private-diff" offset 0,-0.6
  set yrange [least(config):1]
  plot of(config, "diff", "0") u 4:5 w l ls 5 t "no noise", \
       of(config, "private-diff", "10") u 4:5 w l ls 4 t "epsilon 10", \
       of(config, "private-diff", "5") u 4:5 w l ls 3 t "5", \
       of(config, "private-diff", "1") u 4:5 w l ls 1 t "1", \
       of(config, "private-diff", "0.5") u 4:5 w l ls 2 t "0.5"
}
unset multiplot
