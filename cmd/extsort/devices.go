package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/device"
)

func (a *app) devicesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:  "devices",
		Long: "List the devices a sort can use. A device is chosen by its number, its kind or a part of its name: --device 1.\n\nUsage:\n  extsort devices",
		Args: noOperands,
		RunE: func(*cobra.Command, []string) error { return a.devices() },
	}
	addGroups(cmd)
	return cmd
}

func (a *app) devices() error {
	list := extsort.Devices()
	lines := [][]string{{"device", "kind", "units", "memory", "link", "sort u64"}}
	for _, d := range list.Devices {
		lines = append(lines, deviceLine(d))
	}
	if err := writeTable(a.stdout, lines); err != nil {
		return err
	}
	for _, d := range list.Devices {
		if _, err := fmt.Fprintf(a.stdout, "%d: algorithms %s\n", d.Index, strings.Join(d.Algorithms, " ")); err != nil {
			return err
		}
	}
	if list.Note != "" {
		fmt.Fprintln(a.stdout, list.Note)
	}
	return nil
}

func deviceLine(d device.Info) []string {
	name := fmt.Sprintf("%d: %s", d.Index, d.Name)
	if d.Driver != "" {
		name += " (" + d.Driver + ")"
	}
	return []string{name, string(d.Kind), strconv.Itoa(d.Units), deviceMemory(d), rate(int64(d.LinkRate), 1), rate(int64(d.SortRate), 1)}
}

func deviceMemory(d device.Info) string {
	if d.MemoryBytes == 0 {
		return "the host's"
	}
	return humanBytes(d.MemoryBytes)
}
