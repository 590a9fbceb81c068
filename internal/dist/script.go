package dist

import (
	"cmp"
	"embed"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/extsort/extsort/internal/drivers"
)

//go:embed scripts
var scripts embed.FS

// Schedulers lists the schedulers for which there are scripts.
var Schedulers = []string{"slurm", "kubernetes", "local"}

// maxArray is the default maximum size of a Slurm array.
const maxArray = 1000

// TaskResources describes how many tasks share the runs and the parts, and the resources of each
// task.
type TaskResources struct {
	Tasks       int      // 0: one per run or part, up to maxArray
	Workers     int      // 0: the number of processors of this machine
	MemoryBytes int64    // 0: chosen by the task
	Devices     []string // sort devices; empty: chosen by the task
}

// flags returns the flags of both run and merge. If workers is 0, the number of workers is
// omitted.
func (u *TaskResources) flags(workers int) (flags []string) {
	if u.MemoryBytes > 0 {
		flags = append(flags, "-S", strconv.FormatInt(u.MemoryBytes, 10))
	}
	if workers > 0 {
		flags = append(flags, "--parallel", strconv.Itoa(workers))
	}
	return flags
}

// deviceFlags returns the flags of run only, because a merge uses no device.
func (u *TaskResources) deviceFlags() (flags []string) {
	for _, device := range u.Devices {
		flags = append(flags, "-d", device)
	}
	return flags
}

// validate rejects device names that would not remain one word in a shell script.
func (u *TaskResources) validate() error {
	for _, device := range u.Devices {
		if strings.ContainsAny(device, " \t\n'\"\\$`*?[") {
			return fmt.Errorf(
				"-d %q: a shell would split it: use its number, or a part of its name",
				device,
			)
		}
	}
	return nil
}

// gpu returns the text with which a script requests a GPU, if one of the devices may be a GPU.
func (u *TaskResources) gpu(text string) string {
	mayBeGPU := func(device string) bool {
		return device != "auto" && !drivers.NamesHost(device)
	}
	if slices.ContainsFunc(u.Devices, mayBeGPU) {
		return text
	}
	return ""
}

// Script returns a script that makes a scheduler do the tasks. Users can read and edit it before
// they run it.
func (p *Plan) Script(scheduler string, use TaskResources) (string, error) {
	i := slices.Index(Schedulers, scheduler)
	if i < 0 {
		return "", fmt.Errorf(
			"dist script %q: use %s", scheduler, strings.Join(Schedulers, ", "),
		)
	}
	text, err := scripts.ReadFile(
		"scripts/" + []string{"slurm.sh", "kubernetes.yaml", "local.sh"}[i],
	)
	if err = cmp.Or(err, use.validate()); err != nil {
		return "", err
	}
	folder, err := filepath.Abs(p.folder)
	if err != nil {
		return "", err
	}
	tasks := cmp.Or(use.Tasks, maxArray)
	workers := cmp.Or(use.Workers, runtime.NumCPU())
	runTasks := min(tasks, p.Runs)
	cutTasks := min(tasks, CutTasks(p))
	mergeTasks := min(tasks, p.Parts)
	return strings.NewReplacer(
		"@FOLDER@", shellescape.Quote(folder), "@YAMLFOLDER@", strconv.Quote(folder),
		"@FLAGS@", joinedWord(use.flags(0)), "@LOCALFLAGS@", joinedWord(use.flags(use.Workers)),
		"@DEVICES@", joinedWord(use.deviceFlags()),
		"@YAMLFLAGS@", yamlQuoted(use.flags(workers)), "@YAMLDEVICES@", yamlQuoted(use.deviceFlags()),
		"@CPUS@", strconv.Itoa(workers),
		"@GPUS@", use.gpu("--gpus-per-task=1"), "@YAMLGPUS@", use.gpu(", nvidia.com/gpu: 1"),
		"@RUNTASKS@", strconv.Itoa(runTasks), "@LASTRUN@", strconv.Itoa(runTasks-1),
		"@CUTTASKS@", strconv.Itoa(cutTasks), "@LASTCUT@", strconv.Itoa(cutTasks-1),
		"@MERGETASKS@", strconv.Itoa(mergeTasks), "@LASTMERGE@", strconv.Itoa(mergeTasks-1),
	).Replace(string(text)), nil
}

// joinedWord returns one shell word that contains several words, separated by spaces.
func joinedWord(words []string) string {
	return shellescape.Quote(strings.Join(words, " "))
}

// yamlQuoted returns words as the continuation of a YAML list.
func yamlQuoted(words []string) (list string) {
	for _, word := range words {
		list += strconv.Quote(word) + ", "
	}
	return list
}
