package main

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestSettingsDefaults(t *testing.T) {
	s, err := parseSettings(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if s.bytes != 1<<30 || !slices.Equal(s.memories, []int64{4 << 30, 256 << 20}) || s.runs != 5 {
		t.Errorf("size %d, memories %v, runs %d", s.bytes, s.memories, s.runs)
	}
	if len(s.workloads) != len(allWorkloads) || s.peers != nil {
		t.Errorf("workloads %v, peers %v", s.workloads, s.peers)
	}
}

func TestSettingsGiven(t *testing.T) {
	flags := "--workloads u32,gensort --memory 16M,1G --memory 16M --size 64M --peers none"
	s, err := parseSettings(strings.Fields(flags), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.workloads) != 2 || s.workloads[1].Name != "gensort" {
		t.Errorf("workloads %v", s.workloads)
	}
	if !slices.Equal(s.memories, []int64{1 << 30, 16 << 20}) {
		t.Errorf("memories %v, want each once, the largest first", s.memories)
	}
	if s.peers == nil || len(s.peers) != 0 {
		t.Errorf("peers %#v, want none", s.peers)
	}
}

func TestSmallDataNeedsOneLimit(t *testing.T) {
	s, err := parseSettings([]string{"--size", "1M"}, io.Discard)
	if err != nil || !slices.Equal(s.memories, []int64{leastMemory}) {
		t.Errorf("memories %v, %v", s.memories, err)
	}
}

func TestSettingsOfSets(t *testing.T) {
	s, err := parseSettings([]string{"--sets"}, io.Discard)
	if err != nil || !slices.Equal(s.peers, []string{"duckdb", "numpy", "sort"}) {
		t.Errorf("peers %v, %v", s.peers, err)
	}
	if _, err := parseSettings(strings.Fields("--sets --table --peers bsort"), io.Discard); err == nil ||
		!strings.Contains(err.Error(), "--table") || !strings.Contains(err.Error(), "bsort") {
		t.Errorf("the error is %v", err)
	}
}

func TestSettingsFaultsTogether(t *testing.T) {
	_, err := parseSettings(strings.Fields("--size big --workloads u65 --peers quicksort --runs 0 operand"), io.Discard)
	if err == nil {
		t.Fatal("nonsense was taken")
	}
	for _, want := range []string{"--size", `"u65"`, `"quicksort"`, "--runs 0", `"operand"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not told in: %v", want, err)
		}
	}
}
