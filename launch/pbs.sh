#!/bin/bash
# A training that survives the time limit:  qsub launch/pbs.sh     or  qsub -v CONFIG=my.ini,RUN=runs/my launch/pbs.sh
# PBS sends no early warning of a job's choice, so `timeout` sends SIGUSR1 to mpirun five minutes before the walltime. The run
# stops with a checkpoint, and the script submits itself again for the rest. It does so with the resources written here:
# change them in this file (or a copy, named in SCRIPT), not by options of qsub, which the next submission would lack.
#PBS -N dpmpi
#PBS -l select=2:ncpus=4:mpiprocs=4
#PBS -l walltime=04:00:00
#PBS -j oe

SECONDS_TO_RUN=${SECONDS_TO_RUN:-14100}    # the walltime less five minutes

# What to train, and where: a folder on a file system that all nodes see and that survives the job.
CONFIG=${CONFIG:-configs/quickstart.ini}
RUN=${RUN:-runs/pbs-$PBS_JOBID}
DPMPI=${DPMPI:-build/release/dpmpi}
SCRIPT=${SCRIPT:-launch/pbs.sh}

cd "$PBS_O_WORKDIR" || exit 1
. launch/job-functions

# --foreground: the signal goes to mpirun alone, which passes it on once; a rank that gets a second one leaves at once.
train_or_resume "$RUN" "$CONFIG" \
  timeout --foreground --preserve-status --signal=USR1 "$SECONDS_TO_RUN" mpirun --hostfile "$PBS_NODEFILE" "$DPMPI"
status=$?

# qdel sends SIGTERM: then the user wants no more of it.
if [ "$status" -eq 6 ] && [ "$stopped_by" != TERM ]; then
  qsub -v "RUN=$RUN,CONFIG=$CONFIG,DPMPI=$DPMPI,SCRIPT=$SCRIPT,SECONDS_TO_RUN=$SECONDS_TO_RUN" "$SCRIPT" && exit 0
fi
exit "$status"
