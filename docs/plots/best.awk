# From runs (system dim log2(records) rho T seed metric loss), for one dim and rho (of systems without noise: 0), a line
# a system and size: the T with the least mean metric over the seeds, that metric, and the mean loss.
#   awk -v dim=16 -v rho=1 -f best.awk zo-o2nc-phase.dat
$1 ~ /^#/ || NF < 8 || $2 != dim || ($4 != rho && $4 != 0) { next }
{ key = $1 " " $3 " " $5; n[key]++; metric[key] += $7; loss[key] += $8 }
END {
  for (key in n) {
    split(key, part, " "); cell = part[1] " " part[2]
    if (!(cell in best) || metric[key] / n[key] < best[cell]) {
      best[cell] = metric[key] / n[key]; T[cell] = part[3]; end[cell] = loss[key] / n[key]
    }
  }
  for (cell in best) printf "%s %d %.4f %.4f\n", cell, T[cell], best[cell], end[cell] | "sort -k1,1 -k2,2n"
}
