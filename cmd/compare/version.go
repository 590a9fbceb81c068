package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// version is a command of extsort. Its sum tells two builds of one name apart.
type version struct {
	Name string `json:"name"`
	Sum  string `json:"sha256"` // its first digits
	Told string `json:"version,omitempty"`
	path string
}

// runs reports whether an entrant is the version in some way.
func (v version) runs(entrant string) bool { return strings.HasPrefix(entrant, v.Name+" ") }

// tool is the name of the command in a script.
func (v version) tool() string { return "extsort " + v.Name }

// find makes the path absolute, since scripts run elsewhere.
func (v *version) find() (err error) {
	if v.path, err = exec.LookPath(v.path); err == nil {
		v.path, err = filepath.Abs(v.path)
	}
	return err
}

// identify fills in what a report tells of the command.
func (v *version) identify() error {
	program, err := os.ReadFile(v.path)
	sum := sha256.Sum256(program)
	v.Sum = hex.EncodeToString(sum[:6])
	return err
}
