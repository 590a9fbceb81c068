#!/bin/bash
# Does the tasks of @YAMLFOLDER@ on Slurm. Read and change this file, then: bash FILE
# It submits four jobs, each when the one before it is done, and prints the number of the last. Each job is this file
# again, with the name of its tasks. To go on after a failure submit it again: what is done is not done twice.
#SBATCH --requeue --open-mode=append
#SBATCH --ntasks=1 --cpus-per-task=@CPUS@
##SBATCH --mem=40G --time=4:00:00 --partition=NAME
plan=@FOLDER@
flags=@FLAGS@ # of run and merge: extsort dist run --help
devices=@DEVICES@ # of run
flags+=${SLURM_CPUS_PER_TASK:+ --parallel $SLURM_CPUS_PER_TASK}
gpus=@GPUS@ # of run: --gpus-per-task=1, with -d gpu

if [ $# = 0 ]; then
	set -euo pipefail
	mkdir -p "$plan/log"
	job() { sbatch --parsable --kill-on-invalid-dep=yes --job-name="extsort-$1" "${@:2}" "$0" "$1"; }
	array=$plan/log/%x-%a # the files that tasks write to
	runs=$(job run $gpus --array=0-@LASTRUN@ --output="$array")
	cuts=$(job cut --dependency="afterok:$runs" --array=0-@LASTCUT@ --output="$array")
	merges=$(job merge --dependency="afterok:$cuts" --array=0-@LASTMERGE@ --output="$array")
	job verify --dependency="afterok:$merges" --output="$plan/log/%x"
	exit
fi

case $1 in
run) extsort dist run $flags $devices --part "$SLURM_ARRAY_TASK_ID/@RUNTASKS@" "$plan" ;;
cut) extsort dist cut --part "$SLURM_ARRAY_TASK_ID/@CUTTASKS@" "$plan" ;;
merge) extsort dist merge $flags --part "$SLURM_ARRAY_TASK_ID/@MERGETASKS@" "$plan" ;;
*) extsort dist "$1" "$plan" ;;
esac
status=$?
if [ $status = 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then # worth another try
	job=$SLURM_JOB_ID
	[ -z "${SLURM_ARRAY_JOB_ID:-}" ] || job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
	scontrol requeue "$job" && sleep 60 # which ends it
fi
exit $status
