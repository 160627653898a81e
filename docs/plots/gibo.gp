# gnuplot -c gibo.gp, in docs/plots
set terminal svg size 1180,760 font "sans,12" background "#ffffff"
set output "gibo.svg"
set datafile commentschars "#"
set key top right samplen 2
set multiplot layout 2,3
set logscale y
set xlabel "step"
set title "normal mean: loss - 2.5"
plot for [i=4:6] "gibo.dat" index i using 1:2 with lines lw 2 title columnheader(1)
set title "Huber regression: loss"
unset logscale y
set yrange [0.25:0.6]
plot for [i=0:3] "gibo.dat" index i using 1:2 with lines lw 2 title columnheader(1)
set logscale y
set title "lengthscales: squared error"
set yrange [0.05:3]
plot for [i=7:9] "gibo.dat" index i using 1:2 with lines lw 2 title columnheader(1)
set title "noisy evaluations, mu = 0.1"
plot for [i=10:13] "gibo.dat" index i using 1:2 with lines lw 2 title columnheader(1)
set title "support vectors: squared error"
set autoscale y
plot for [i=14:15] "gibo.dat" index i using 1:2 with lines lw 2 title columnheader(1)
set title "evaluations of 25 steps"
set xlabel "tolerance of the trace"
set logscale x
set yrange [50:800]
set ytics (50,100,200,400,800)
plot "gibo-points.dat" using 1:2 with linespoints lw 2 title "stencil", "" using 1:4 with linespoints lw 2 title "refined"
