package dist

import (
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/session"
)

// TestPartOfThisTask tests combinations of the schedulers' variables.
func TestPartOfThisTask(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4", "2/4"},
		{"PMI_RANK=1 PMI_SIZE=4", "1/4"},
		{"PMIX_RANK=3 SLURM_NTASKS=4", "3/4"},
		{"SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_COUNT=8 SLURM_PROCID=0", "3/8"},
		{"SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_STEP=1", "7/8"},
		// Mpirun within an array, and within a batch job.
		{"SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_COUNT=8 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", "1/2"},
		// Tasks 3 and 7 were submitted again; and --array=0-6:2.
		{"SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_COUNT=2", "TASK_ID=7 is not one of 2"},
		{"SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_STEP=2", "numbered without gaps"},
		{"SLURM_ARRAY_TASK_ID=x", "is not a number"},
		{"AWS_BATCH_JOB_ARRAY_INDEX=5 AWS_BATCH_JOB_ARRAY_SIZE=6", "5/6"},
		{"AWS_BATCH_JOB_ARRAY_INDEX=5", "5/10"},
		{"CLOUD_RUN_TASK_INDEX=1 CLOUD_RUN_TASK_COUNT=3", "1/3"},
		{"JOB_COMPLETION_INDEX=9", "9/10"},
		{"JOB_COMPLETION_INDEX=10", "JOB_COMPLETION_INDEX=10 is not one of 10"},
		{"SGE_TASK_ID=1 SGE_TASK_FIRST=1 SGE_TASK_LAST=4 SGE_TASK_STEPSIZE=1", "0/4"},
		{"SGE_TASK_ID=undefined", "no variable of MPI"},
		// As in every batch job.
		{"SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_JOB_ID=7", "no variable of MPI"},
		{"SLURM_PROCID=2 SLURM_NTASKS=4 SLURM_STEP_ID=0", "2/4"},
		{"SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_STEP_ID=batch", "no variable of MPI"},
		{"", "no variable of MPI"},
	} {
		env := map[string]string{}
		for _, assignment := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(assignment, "=")
			env[name] = value
		}
		got, err := Detect(10, func(name string) string { return env[name] })
		checkPart(t, c.env, got, err, c.want)
	}
}

func checkPart(t *testing.T, source string, got session.Part, err error, want string) {
	t.Helper()
	switch {
	case err != nil && (strings.Contains(want, " ") && strings.Contains(err.Error(), want)):
	case err != nil || got.String() != want:
		t.Errorf("%s: part %v, %v, and not %s", source, got, err, want)
	}
}
