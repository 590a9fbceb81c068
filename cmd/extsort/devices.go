package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/drivers"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/session"
)

type devicesFlags struct{ json bool }

func devicesShowFlags(g group, v *flagValues) {
	g.bool(&v.devices.json, "json", "print one line of JSON")
}

func (a *app) devicesCommand() *cobra.Command {
	v := &flagValues{}
	return verb("devices [flags]",
		"List the devices a sort can use. Choose one with -d by its number, its kind or a\npart of its name: --device 1.",
		"", v, func(cmd *cobra.Command, _ []string) error {
			return a.devices(cmd.Context(), v.devices.json)
		})
}

func (a *app) devices(ctx context.Context, asJSON bool) error {
	list := session.Devices(ctx)
	if asJSON {
		return writeObject(a.out, struct {
			Devices []device.Info `json:"devices"`
			Note    string        `json:"note,omitempty"`
		}{list.Devices, list.Note}, nil)
	}
	for _, d := range list.Devices {
		fmt.Fprintf(a.out, "%d: %s\n", d.Index, d.Name)
		writeRows(a.out, deviceRows(ctx, d))
	}
	writeRows(a.out, []row{{"GPUs", list.Note}})
	return nil
}

// deviceRows describes a device. It leaves out rates that extsort tune has not measured.
func deviceRows(ctx context.Context, d device.Info) []row {
	measured := func(r float64) string {
		return textIf(r > 0, "%s", human.Rate(int64(r), 1))
	}
	return []row{
		{"   kind", string(d.Kind) + ", " + plural(d.Units, "unit")},
		{"   driver", d.Driver},
		{"   memory", cmp.Or(
			textIf(d.MemoryBytes > 0, "%s", human.Bytes(d.MemoryBytes)),
			"host memory",
		)},
		{"   chunk", largestChunk(ctx, d)},
		{"   link", measured(d.LinkRate)},
		{"   sort u64", measured(d.SortRate)},
		{"   algorithms", strings.Join(d.Algorithms, " ")},
	}
}

// largestChunk returns the number of u64 records that the device sorts in one chunk. In host
// memory, it depends on -S.
func largestChunk(ctx context.Context, info device.Info) string {
	if info.Host || info.UnifiedMemory {
		return "as large as -S allows"
	}
	const staging = 128 << 20 // host memory that a chunk uses if there is enough
	d, err := drivers.Open(ctx, info, device.OpenOptions{})
	if err != nil {
		return ""
	}
	defer d.Close()
	// This layout is always valid.
	keyer, _ := format.NewKeyer(format.Bare(format.Type{
		Kind: format.Unsigned,
		Size: 8,
	}))
	return "up to " + plural(
		d.MaxRecords(device.ChunkOptions{Keyer: keyer}, staging), "record",
	) + " of u64"
}
