# From runs (config method epsilon seed epoch AUC), the file CURVES of configs/minimax/table.sh: over the seeds, the mean,
# the least and the greatest AUC of every evaluation, as lines "config method epsilon epoch mean least greatest".
#   awk -f curves.awk curves.txt > minimax-curves.dat
NF == 6 {
  key = $1 " " $2 " " $3 " " $5
  if (!(key in n)) { order[++keys] = key; least[key] = $6; most[key] = $6 }
  n[key]++; sum[key] += $6
  if ($6 < least[key]) least[key] = $6
  if ($6 > most[key]) most[key] = $6
}
END { for (i = 1; i <= keys; ++i) { k = order[i]; printf "%s %.4f %.4f %.4f\n", k, sum[k] / n[k], least[k], most[k] } }
