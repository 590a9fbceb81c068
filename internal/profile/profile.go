// Package profile measures the machine for the cost model of package plan, and keeps what it found.
package profile

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/device/tune"
)

// Kept is what is kept of this machine: who measured it and when, and the file.
type Kept struct {
	machine
	Command  string        `json:"command"`
	Measured time.Time     `json:"measured"`
	Profile  *plan.Profile `json:"profile"` // nil: nothing is kept
	File     string        `json:"-"`
}

// machine is what a profile holds for.
type machine struct {
	Version    int    `json:"version"` // of the file and of what its prices mean
	Processor  string `json:"processor"`
	Processors int    `json:"processors"`
}

func thisMachine() machine { return machine{1, cpu.New().Info().Name, runtime.NumCPU()} }

func (m machine) path() (string, error) { return tune.Path(m.Processor, strconv.Itoa(m.Processors)) }

// Load is the profile that was kept of this machine, else the default. EXTSORT_PROFILE=default keeps plans independent
// of what was measured.
func Load() *plan.Profile {
	if os.Getenv("EXTSORT_PROFILE") != "default" {
		if k := Known(); k.Profile != nil {
			return k.Profile
		}
	}
	return plan.DefaultProfile()
}

// Known is what is kept of this machine.
func Known() Kept {
	m := thisMachine()
	name, err := m.path()
	if err != nil {
		return Kept{}
	}
	content, err := os.ReadFile(name)
	k := Kept{File: name}
	if err != nil || json.Unmarshal(content, &k) != nil || k.machine != m || k.Profile == nil {
		return Kept{}
	}
	mend(k.Profile)
	return k
}

// Forget removes what is kept of this machine and returns the file's name; "": nothing was kept.
func Forget() (string, error) {
	name, err := thisMachine().path()
	if err != nil {
		return "", err
	}
	return tune.Remove(name)
}

// mend gives prices that are missing, or would mislead, their defaults.
func mend(p *plan.Profile) {
	const most = 1e15
	prices, defaults := reflect.ValueOf(p).Elem(), reflect.ValueOf(*plan.DefaultProfile())
	for i, price := range prices.Fields() {
		if price.Kind() == reflect.Float64 && !(price.Float() > 0 && price.Float() < most) {
			price.Set(defaults.FieldByIndex(i.Index))
		}
	}
}

// Save keeps what Measure found, and by which command, and returns the file's name.
func Save(p *plan.Profile, command string) (string, error) {
	m := thisMachine()
	name, err := m.path()
	if err == nil {
		err = tune.Keep(name, Kept{m, command, time.Now().UTC().Truncate(time.Second), p, ""})
	}
	if err != nil {
		return "", fmt.Errorf("keep the profile of this machine: %w", err)
	}
	return name, nil
}
