#!/bin/sh
# Does the tasks of @YAMLFOLDER@ on this machine, one after the other. Read and change this file, then: sh FILE
# Run it again after a failure: what is done is not done twice.
plan=@FOLDER@
flags=@LOCALFLAGS@ # of run and merge: extsort dist run --help
devices=@DEVICES@ # of run

# try COMMAND... runs it, up to three times where it says that another try is worth it.
try() {
	for attempt in 1 2 3; do
		"$@" && return
		status=$?
		[ $status = 75 ] || exit $status
		sleep $attempt
	done
	exit $status
}

task=0
while [ $task -lt @RUNTASKS@ ]; do
	try extsort dist run $flags $devices --part $task/@RUNTASKS@ "$plan"
	task=$((task + 1))
done
try extsort dist cut "$plan"
task=0
while [ $task -lt @MERGETASKS@ ]; do
	try extsort dist merge $flags --part $task/@MERGETASKS@ "$plan"
	task=$((task + 1))
done
try extsort dist verify "$plan"
