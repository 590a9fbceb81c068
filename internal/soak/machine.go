package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// builtName is the command in the folder of work.
const builtName = "extsort"

// findCommand is the absolute path of the command, which is built unless one is named.
func findCommand(name, folder string) (string, error) {
	if name != "" {
		return filepath.Abs(name)
	}
	name = filepath.Join(folder, builtName)
	said, err := exec.Command("go", "build", "-o", name, "github.com/extsort/extsort/cmd/extsort").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build extsort: %w: %s", err, said)
	}
	return filepath.Abs(name)
}

var (
	deviceLine     = regexp.MustCompile(`^(\d+): `)
	algorithmsLine = regexp.MustCompile(`^(\d+): algorithms (.*)`)
)

// findMachine asks the command for its devices and their algorithms. Besides, cpu and auto can be named.
func findMachine(command string) (machine, error) {
	list, err := exec.Command(command, "devices").Output()
	if err != nil {
		return machine{}, fmt.Errorf("%s devices: %w", command, err)
	}
	m := machine{[]device{{name: "cpu"}, {name: "auto"}}}
	algorithms := map[string][]string{}
	var numbers []string
	for line := range strings.Lines(string(list)) {
		if match := algorithmsLine.FindStringSubmatch(line); match != nil {
			algorithms[match[1]] = strings.Fields(match[2])
		} else if match := deviceLine.FindStringSubmatch(line); match != nil {
			numbers = append(numbers, match[1])
		}
	}
	for _, n := range numbers {
		m.devices = append(m.devices, device{n, algorithms[n]})
	}
	return m, nil
}
