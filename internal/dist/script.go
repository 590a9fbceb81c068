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

// Schedulers are those that scripts are there for.
var Schedulers = []string{"slurm", "kubernetes", "local"}

// maxArray is how many tasks an array of Slurm has at most, unless its configuration says otherwise.
const maxArray = 1000

// Use says how many tasks of each kind share the runs and the parts, and what each of them has.
type Use struct {
	Tasks       int      // 0: one for each, up to maxArray
	Workers     int      // 0: as many as this machine has processors
	MemoryBytes int64    // 0: the task decides
	Devices     []string // that sort; none: the task decides
}

// flags returns the flags that run and merge share. If workers is 0, their number is given elsewhere, or not at all.
func (u *Use) flags(workers int) (flags []string) {
	if u.MemoryBytes > 0 {
		flags = append(flags, "-S", strconv.FormatInt(u.MemoryBytes, 10))
	}
	if workers > 0 {
		flags = append(flags, "--parallel", strconv.Itoa(workers))
	}
	return flags
}

// deviceFlags returns the flags of run alone: a merge uses no device.
func (u *Use) deviceFlags() (flags []string) {
	for _, device := range u.Devices {
		flags = append(flags, "-d", device)
	}
	return flags
}

// validate refuses what would not stay one word of a shell script.
func (u *Use) validate() error {
	for _, device := range u.Devices {
		if strings.ContainsAny(device, " \t\n'\"\\$`*?[") {
			return fmt.Errorf("-d %q: a shell would split it: use its number, or a part of its name", device)
		}
	}
	return nil
}

// gpu returns the text by which a script asks a scheduler for a GPU, if a device is named that may be one.
func (u *Use) gpu(text string) string {
	mayBeGPU := func(device string) bool { return device != "auto" && !drivers.NamesHost(device) }
	if slices.ContainsFunc(u.Devices, mayBeGPU) {
		return text
	}
	return ""
}

// Script is the text of a script that has a scheduler do the tasks: to be read and changed, and then run.
func (p *Plan) Script(scheduler string, use Use) (string, error) {
	i := slices.Index(Schedulers, scheduler)
	if i < 0 {
		return "", fmt.Errorf("dist script %q: use %s", scheduler, strings.Join(Schedulers, ", "))
	}
	text, err := scripts.ReadFile("scripts/" + []string{"slurm.sh", "kubernetes.yaml", "local.sh"}[i])
	if err = cmp.Or(err, use.validate()); err != nil {
		return "", err
	}
	folder, err := filepath.Abs(p.folder)
	if err != nil {
		return "", err
	}
	tasks, workers := cmp.Or(use.Tasks, maxArray), cmp.Or(use.Workers, runtime.NumCPU())
	runTasks, cutTasks, mergeTasks := min(tasks, p.Runs), min(tasks, CutTasks(p)), min(tasks, p.Parts)
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

// joinedWord returns one word of a shell that contains several words, separated by spaces.
func joinedWord(words []string) string { return shellescape.Quote(strings.Join(words, " ")) }

// yamlQuoted are words of a list that goes on.
func yamlQuoted(words []string) (list string) {
	for _, word := range words {
		list += strconv.Quote(word) + ", "
	}
	return list
}
