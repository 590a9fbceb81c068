package dist

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Share is the K-th of N shares, K from 0.
type Share struct{ K, N int }

// of is what the share is of total: contiguous, and as large as the others, or by one larger.
func (s Share) of(total int64) (from, to int64) {
	n := int64(s.N)
	at := func(k int64) int64 { return total/n*k + total%n*k/n } // total·k/n, which may be too large
	return at(int64(s.K)), at(int64(s.K) + 1)
}

// ParseShare reads K/N, or with auto what the variables of a scheduler say: getenv gives them. Where a scheduler does
// not say how many tasks there are, there are tasks of them.
func ParseShare(text string, tasks int, getenv func(string) string) (Share, error) {
	if text == "auto" {
		return detect(tasks, getenv)
	}
	first, second, ok := strings.Cut(text, "/")
	k, bad := strconv.Atoi(first)
	n, worse := strconv.Atoi(second)
	if !ok || bad != nil || worse != nil {
		return Share{}, fmt.Errorf("--part %q: want K/N, such as 0/8, or auto", text)
	}
	return Share{k, n}.checked("--part " + text)
}

func (s Share) checked(source string) (Share, error) {
	if s.N < 1 || s.K < 0 || s.K >= s.N {
		return Share{}, fmt.Errorf("%s: share %d of %d: they are numbered from 0", source, s.K, s.N)
	}
	return s, nil
}

// scheduler has the variables that say which task of how many this is. first is the number of the first task, step the
// distance to the next; both and count may be missing.
type scheduler struct{ index, count, first, last, step string }

// schedulers are asked in this order: an mpirun within a job of an array is a launcher of its own. Slurm sets
// SLURM_PROCID=0 in every batch job, so that it comes last, and counts only within a step.
var schedulers = []scheduler{
	{index: "OMPI_COMM_WORLD_RANK", count: "OMPI_COMM_WORLD_SIZE"},
	{index: "PMI_RANK", count: "PMI_SIZE"},
	{index: "PMIX_RANK", count: "SLURM_NTASKS"},
	{index: "SLURM_ARRAY_TASK_ID", count: "SLURM_ARRAY_TASK_COUNT", first: "SLURM_ARRAY_TASK_MIN",
		step: "SLURM_ARRAY_TASK_STEP"},
	{index: "AWS_BATCH_JOB_ARRAY_INDEX", count: "AWS_BATCH_JOB_ARRAY_SIZE"},
	{index: "CLOUD_RUN_TASK_INDEX", count: "CLOUD_RUN_TASK_COUNT"},
	{index: "JOB_COMPLETION_INDEX"},
	{index: "SGE_TASK_ID", first: "SGE_TASK_FIRST", last: "SGE_TASK_LAST", step: "SGE_TASK_STEPSIZE"},
	{index: "SLURM_PROCID", count: "SLURM_NTASKS"},
}

var errNoScheduler = errors.New("--part auto: no variable of MPI, Slurm, AWS Batch, Cloud Run, Kubernetes or SGE " +
	"says which task this is: say --part K/N")

// detect finds the share of this task by the first scheduler that has set its variable.
func detect(tasks int, getenv func(string) string) (Share, error) {
	for _, s := range schedulers {
		index := getenv(s.index)
		_, outsideStep := strconv.Atoi(getenv("SLURM_STEP_ID"))
		switch {
		case index == "", s.index == "SGE_TASK_ID" && index == "undefined":
		case s.index == "SLURM_PROCID" && outsideStep != nil:
		default:
			return s.share(tasks, getenv)
		}
	}
	return Share{}, errNoScheduler
}

// share is that which the variables of s say.
func (s scheduler) share(tasks int, getenv func(string) string) (Share, error) {
	var bad error
	value := func(name string, missing int) int {
		text := getenv(name)
		if name == "" || text == "" {
			return missing
		}
		n, err := strconv.Atoi(text)
		if err != nil && bad == nil {
			bad = fmt.Errorf("--part auto: %s=%s is no number: say --part K/N", name, text)
		}
		return n
	}
	first := value(s.first, 0)
	share := Share{value(s.index, 0) - first, value(s.count, tasks)}
	if s.last != "" {
		share.N = value(s.last, first+tasks-1) - first + 1
	}
	step := value(s.step, 1)
	switch {
	case bad != nil:
		return Share{}, bad
	case step != 1 || share.K >= share.N || share.K < 0:
		return Share{}, fmt.Errorf("--part auto: %s=%s is not one of %d tasks that are numbered one by one from %d, as "+
			"after some of an array were submitted again: say --part K/N", s.index, getenv(s.index), share.N, first)
	}
	return share.checked("--part auto: " + s.index)
}
