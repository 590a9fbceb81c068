package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/format"
)

func (a *app) devicesCommand() *cobra.Command {
	return verb("devices",
		"List the devices a sort can use. A device is chosen by its number, its kind or a\npart of its name: --device 1.",
		"", nil, func(context.Context) error { return a.devices() })
}

func (a *app) devices() error {
	list := extsort.Devices()
	lines := [][]string{{"device", "kind", "units", "memory", "largest chunk", "link", "sort u64"}}
	for _, d := range list.Devices {
		lines = append(lines, deviceLine(d))
	}
	writeTable(a.out, lines)
	for _, d := range list.Devices {
		fmt.Fprintf(a.out, "%d: algorithms %s\n", d.Index, strings.Join(d.Algorithms, " "))
	}
	if list.Note != "" {
		fmt.Fprintln(a.out, list.Note)
	}
	if len(list.Devices) > 1 {
		fmt.Fprintln(a.out, "largest chunk: in records of u64; link and sort: as extsort tune has measured")
	}
	return nil
}

func deviceLine(d device.Info) []string {
	name := fmt.Sprintf("%d: %s", d.Index, d.Name)
	if d.Driver != "" {
		name += " (" + d.Driver + ")"
	}
	memory := "the host's"
	if d.MemoryBytes > 0 {
		memory = humanBytes(d.MemoryBytes)
	}
	return []string{
		name, string(d.Kind), strconv.Itoa(d.Units), memory, largestChunk(d),
		rate(int64(d.LinkRate), 1), rate(int64(d.SortRate), 1),
	}
}

// largestChunk is the most u64 records that the device sorts in one chunk; in the host's memory that depends on -S.
func largestChunk(info device.Info) string {
	if info.Kind == device.CPU || info.UnifiedMemory {
		return "as -S allows"
	}
	d, err := opencl.Open(info.Index, opencl.Options{})
	if err != nil {
		return "-"
	}
	defer d.Close()
	keyer, err := format.NewKeyer(format.Bare(format.Type{Kind: format.Unsigned, Size: 8}))
	if err != nil {
		return "-"
	}
	const staging = 128 << 20 // of host memory: what a chunk takes when it is not short
	return humanize.Comma(d.MaxRecords(device.ChunkOptions{Keyer: keyer}, staging))
}
