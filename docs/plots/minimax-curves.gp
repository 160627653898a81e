# Draws the plots of docs/results/minimax_curves.md:  cd docs/plots && gnuplot minimax-curves.gp   (Debian: gnuplot-nox).
# Lines of minimax-curves.dat, -same.dat and -gradient.dat (made by curves.awk): config, method, epsilon (0: no noise), epoch, mean, least
# and greatest AUC, or norm of the gradient.
set style line 1 lc rgb "#0072b2" lw 2
set style line 2 lc rgb "#009e73" lw 2
set style line 3 lc rgb "#d55e00" lw 2
set style line 4 lc rgb "#cc79a7" lw 2
set style line 5 lc rgb "#555555" lw 1.6 dt 2
set style fill transparent solid 0.18 noborder
set key bottom right samplen 1.6 font ",10"
configs = "mnist fashion-mnist mnist-imbalanced fashion-mnist-imbalanced"
of(file, config, method, epsilon) = sprintf("< grep '^%s %s %s ' %s.dat", config, method, epsilon, file)
least(config) = config[1:1] eq "f" ? 0.85 : (strstrt(config, "imb") ? 0.75 : 0.9)
last(config) = config eq "mnist-imbalanced" ? 40 : 20
at(epsilon) = epsilon eq "0" ? "no noise" : "epsilon ".epsilon

# Both methods: a row an epsilon, a column a config
set terminal svg size 1080,1140 font "sans,12" noenhanced background "#ffffff"
set output "minimax-curves.svg"
set multiplot layout 5,4 margins 0.05,0.985,0.045,0.975 spacing 0.06,0.07
file = "minimax-curves"
do for [epsilon in "0.5 1 5 10 0"] {
  do for [config in configs] {
    set title config font ",11" offset 0,-0.7
    set xlabel "epochs, ".at(epsilon) font ",11" offset 0,0.7
    set xrange [0:last(config)]
    quarter = last(config) / 4
    set xtics quarter
    set yrange [least(config):1]
    low = least(config)
    step = (1 - low) / 2
    set ytics low, step
    both = epsilon eq "0" ? "sgda diff" : "dp-sgda private-diff"
    plot of(file, config, word(both, 1), epsilon) u 4:6:7 w filledcurves lc rgb "#0072b2" notitle, \
         of(file, config, word(both, 2), epsilon) u 4:6:7 w filledcurves lc rgb "#009e73" notitle, \
         of(file, config, word(both, 1), epsilon) u 4:5 w l ls 1 t "dp-sgda", \
         of(file, config, word(both, 2), epsilon) u 4:5 w l ls 2 t "private-diff"
    unset key
  }
}
unset multiplot
set key

# private-diff at all epsilons
set terminal svg size 1080,300 font "sans,12" noenhanced background "#ffffff"
set output "minimax-curves-epsilon.svg"
set multiplot layout 1,4 margins 0.05,0.985,0.15,0.9 spacing 0.06,0
set xlabel "epochs"
set xrange [0:20]
set xtics 5
do for [config in configs] {
  set title config
  set yrange [least(config):1]
  low = least(config)
  step = (1 - low) / 2
  set ytics low, step
  plot of(file, config, "diff", "0") u 4:5 w l ls 5 t "no noise", \
       of(file, config, "private-diff", "10") u 4:5 w l ls 4 t "epsilon 10", \
       of(file, config, "private-diff", "5") u 4:5 w l ls 3 t "5", \
       of(file, config, "private-diff", "1") u 4:5 w l ls 1 t "1", \
       of(file, config, "private-diff", "0.5") u 4:5 w l ls 2 t "0.5"
  unset key
}
unset multiplot
set key

# Both methods with the same settings: minimax-curves-same.dat
set output "minimax-curves-same.svg"
set multiplot layout 1,4 margins 0.05,0.985,0.15,0.9 spacing 0.06,0
file = "minimax-curves-same"
set xrange [0:10]
set xtics 2
set yrange [0.8:1]
set ytics 0.8, 0.1
do for [epsilon in "0.5 1 5 10"] {
  set title "mnist, epsilon ".epsilon
  plot of(file, "mnist", "dp-sgda", epsilon) u 4:6:7 w filledcurves lc rgb "#0072b2" notitle, \
       of(file, "mnist", "private-diff", epsilon) u 4:6:7 w filledcurves lc rgb "#009e73" notitle, \
       of(file, "mnist", "dp-sgda", epsilon) u 4:5 w l ls 1 t "dp-sgda", \
       of(file, "mnist", "private-diff", epsilon) u 4:5 w l lc rgb "#009e73" lw 2 dt 2 t "private-diff"
  unset key
}
unset multiplot
set key

# The norm of the mean gradient on the test images, both methods with the same settings: minimax-curves-gradient.dat
set output "minimax-curves-gradient.svg"
set multiplot layout 1,4 margins 0.05,0.985,0.15,0.9 spacing 0.06,0
file = "minimax-curves-gradient"
set key top right
set yrange [0:*]
set ytics autofreq
do for [epsilon in "0.5 1 5 10"] {
  set title "mnist, epsilon ".epsilon
  plot of(file, "mnist", "dp-sgda", epsilon) u 4:6:7 w filledcurves lc rgb "#0072b2" notitle, \
       of(file, "mnist", "private-diff", epsilon) u 4:6:7 w filledcurves lc rgb "#009e73" notitle, \
       of(file, "mnist", "dp-sgda", epsilon) u 4:5 w l ls 1 t "dp-sgda", \
       of(file, "mnist", "private-diff", epsilon) u 4:5 w l lc rgb "#009e73" lw 2 dt 2 t "private-diff"
  unset key
}
unset multiplot
