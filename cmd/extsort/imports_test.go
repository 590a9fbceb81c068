package main

import (
	"os/exec"
	"strings"
	"testing"
)

// A drawing library would make up a third of the command, so the plots of bench are drawn without
// one.
func TestNoDrawingLibrary(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(name, "gonum.org/") || strings.Contains(name, "freetype") {
			t.Errorf("the command imports %s", name)
		}
	}
}
