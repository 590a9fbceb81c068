package dist

import (
	"fmt"
	"strings"
	"testing"
)

// TestShareOfThisTask holds what the variables of schedulers mean.
func TestShareOfThisTask(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4", "2/4"},
		{"PMI_RANK=1 PMI_SIZE=4", "1/4"},
		{"PMIX_RANK=3 SLURM_NTASKS=4", "3/4"},
		{"SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_COUNT=8 SLURM_PROCID=0", "3/8"},
		{"SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_STEP=1", "7/8"},
		// mpirun within an array, and within a batch job
		{"SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_COUNT=8 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", "1/2"},
		// tasks 3 and 7 were submitted again, and --array=0-6:2
		{"SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_COUNT=2", "TASK_ID=7 is not one of 2"},
		{"SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_STEP=2", "numbered one by one"},
		{"SLURM_ARRAY_TASK_ID=x", "is no number"},
		{"AWS_BATCH_JOB_ARRAY_INDEX=5 AWS_BATCH_JOB_ARRAY_SIZE=6", "5/6"},
		{"AWS_BATCH_JOB_ARRAY_INDEX=5", "5/10"},
		{"CLOUD_RUN_TASK_INDEX=1 CLOUD_RUN_TASK_COUNT=3", "1/3"},
		{"JOB_COMPLETION_INDEX=9", "9/10"},
		{"JOB_COMPLETION_INDEX=10", "JOB_COMPLETION_INDEX=10 is not one of 10"},
		{"SGE_TASK_ID=1 SGE_TASK_FIRST=1 SGE_TASK_LAST=4 SGE_TASK_STEPSIZE=1", "0/4"},
		{"SGE_TASK_ID=undefined", "no variable of MPI"},
		{"SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_JOB_ID=7", "no variable of MPI"}, // every batch job
		{"SLURM_PROCID=2 SLURM_NTASKS=4 SLURM_STEP_ID=0", "2/4"},
		{"SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_STEP_ID=batch", "no variable of MPI"},
		{"", "no variable of MPI"},
	} {
		env := map[string]string{}
		for _, assignment := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(assignment, "=")
			env[name] = value
		}
		got, err := ParseShare("auto", 10, func(name string) string { return env[name] })
		checkShare(t, c.env, got, err, c.want)
	}
	for text, want := range map[string]string{
		"0/1": "0/1", "7/8": "7/8", "8/8": "share 8 of 8", "0/0": "share 0 of 0", "-1/2": "share -1 of 2", "1": "want K/N",
		"a/2": "want K/N", "1/2/3": "want K/N", "": "want K/N",
	} {
		got, err := ParseShare(text, 10, nil)
		checkShare(t, text, got, err, want)
	}
}

func checkShare(t *testing.T, source string, got Share, err error, want string) {
	t.Helper()
	switch {
	case err != nil && (strings.Contains(want, " ") && strings.Contains(err.Error(), want)):
	case err != nil || fmt.Sprintf("%d/%d", got.K, got.N) != want:
		t.Errorf("%s: share %v, %v, and not %s", source, got, err, want)
	}
}

// TestSharesAreAllAndEqual holds that shares follow each other, and differ by one at most.
func TestSharesAreAllAndEqual(t *testing.T) {
	for _, total := range []int64{0, 1, 7, 64, 1 << 62} {
		for _, n := range []int{1, 2, 7, 64} {
			next := int64(0)
			for k := range n {
				from, to := Share{k, n}.of(total)
				if from != next || to-from < total/int64(n) || to-from > total/int64(n)+1 {
					t.Errorf("share %d of %d of %d: %d to %d", k, n, total, from, to)
				}
				next = to
			}
			if next != total {
				t.Errorf("%d shares of %d end at %d", n, total, next)
			}
		}
	}
}
