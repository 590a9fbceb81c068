package main

import (
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// command is the name of a program and its arguments.
type command []string

// pipeline is commands of which each reads what the one before it writes.
type pipeline struct {
	commands []command
	output   string // the file that the last one writes to; "": none
}

// script is pipelines that run one after the other. All its paths are relative to the folder of the data.
type script []pipeline

// single is the script of one command.
func single(name string, args ...string) script {
	return script{{commands: []command{append(command{name}, args...)}}}
}

// String is the script as a shell takes it.
func (s script) String() string {
	var parts []string
	for _, p := range s {
		var words []string
		for _, c := range p.commands {
			words = append(words, c.String())
		}
		line := strings.Join(words, " | ")
		if p.output != "" {
			line += " > " + shellescape.Quote(p.output)
		}
		parts = append(parts, line)
	}
	return strings.Join(parts, " && ")
}

func (c command) String() string {
	return shellescape.QuoteCommand(c)
}
