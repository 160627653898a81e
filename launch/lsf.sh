#!/bin/bash
# A training that survives the run limit:  bsub < launch/lsf.sh     or  CONFIG=my.ini RUN=runs/my bsub < launch/lsf.sh
# LSF's own warning (-wa) goes to every process of the job at once, and a rank that is signalled twice leaves without a
# checkpoint. So `timeout` sends SIGUSR1 to mpirun alone, five minutes before the limit. The run stops with a checkpoint, and the
# script ends with 6, which -Q takes as the wish to be queued again, under the same number.
#BSUB -J dpmpi
#BSUB -n 8
#BSUB -R "span[ptile=4]"
#BSUB -W 04:00
#BSUB -Q "6"
#BSUB -o dpmpi-%J.log

SECONDS_TO_RUN=${SECONDS_TO_RUN:-14100}    # the run limit less five minutes

# What to train, and where: a folder on a file system that all nodes see and that survives the job.
CONFIG=${CONFIG:-configs/quickstart.ini}
RUN=${RUN:-runs/lsf-$LSB_JOBID}
DPMPI=${DPMPI:-build/release/dpmpi}

cd "$LS_SUBCWD" || exit 1
. launch/job-functions

# --foreground: the signal goes to mpirun alone, which passes it on once.
train_or_resume "$RUN" "$CONFIG" \
  timeout --foreground --preserve-status --signal=USR1 "$SECONDS_TO_RUN" mpirun --hostfile "$LSB_DJOB_HOSTFILE" "$DPMPI"
status=$?

# bkill sends SIGTERM: then the user wants no more of it.
if [ "$status" -eq 6 ] && [ "$stopped_by" = TERM ]; then exit 143; fi
exit "$status"
