package main

import (
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// A command is the name of a program and its arguments.
type command []string

// A pipeline is a sequence of commands. Each command reads the output of the previous one.
type pipeline struct {
	commands []command
	output   string // file for the output of the last command; "": none
}

// A script consists of pipelines that run one after the other. All its paths are relative to the
// data directory.
type script []pipeline

// single returns the script that runs one command.
func single(name string, args ...string) script {
	return script{{commands: []command{append(command{name}, args...)}}}
}

// String returns the script in shell syntax.
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
