# Draws the plot of docs/results/minimax.md:  cd docs/plots && gnuplot minimax-auc.gp   (Debian: gnuplot-nox).
set terminal svg size 980,760 font "sans,13" noenhanced background "#ffffff"
set output "minimax-auc.svg"
set style line 1 lc rgb "#0072b2" lw 2.2 pt 5 ps 0.8
set style line 2 lc rgb "#009e73" lw 2.2 pt 7 ps 0.8
set style line 3 lc rgb "#d55e00" lw 1.4 dt 2 pt 6 ps 0.8
set style line 4 lc rgb "#e69f00" lw 1.4 dt 2 pt 4 ps 0.8
set grid lc rgb '#dddddd' lw 0.6
set logscale x
set xrange [0.4:12]
set xtics (0.5, 1, 5, 10)
set xlabel "epsilon (the paper's: as stated)"
set ylabel "test AUC"
set key bottom right samplen 1.8 font ",11"
runs(config, method) = sprintf("< grep '^%s %s ' minimax-auc.dat", config, method)
mean(config, method) = sprintf("< awk '$1 == \"%s\" && $2 == \"%s\" { s[$3] += $5; n[$3]++ } END { for (e in s) print e, s[e] / n[e] }' minimax-auc.dat | sort -g", config, method)
set multiplot layout 2,2
do for [config in "mnist fashion-mnist mnist-imbalanced fashion-mnist-imbalanced"] {
  set title config
  plot mean(config, "dp-sgda") using 1:2 with linespoints ls 1 title "dp-sgda", \
       mean(config, "private-diff") using 1:2 with linespoints ls 2 title "private-diff", \
       runs(config, "paper-private-diff") using 3:5 with linespoints ls 3 title "PrivateDiff, the paper's Table 1", \
       runs(config, "paper-dp-sgda") using 3:5 with linespoints ls 4 title "DP-SGDA, the paper's Table 1"
}
unset multiplot
