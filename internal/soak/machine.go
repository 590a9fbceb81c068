package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// builtName is the name of the command in the work directory.
const builtName = "extsort"

// findCommand returns the absolute path of the command. If no command is named, it builds one.
func findCommand(name, folder string) (string, error) {
	if name != "" {
		return filepath.Abs(name)
	}
	name = filepath.Join(folder, builtName)
	build := exec.Command("go", "build", "-o", name, "github.com/extsort/extsort/cmd/extsort")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as other tests build it
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build extsort: %w: %s", err, said)
	}
	return filepath.Abs(name)
}

// findMachine asks the command for its devices and their algorithms. cpu and auto are always
// possible.
func findMachine(command string) (machine, error) {
	var list struct {
		Devices []struct {
			Index      int
			Algorithms []string
		}
	}
	said, err := exec.Command(command, "devices", "--json").Output()
	if err == nil {
		err = json.Unmarshal(said, &list)
	}
	if err != nil {
		return machine{}, fmt.Errorf("%s devices: %w", command, err)
	}
	m := machine{[]device{{name: "cpu"}, {name: "auto"}}}
	for _, d := range list.Devices {
		m.devices = append(
			m.devices, device{strconv.Itoa(d.Index), d.Algorithms},
		)
	}
	return m, nil
}
