package sets_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/merge/sets"
)

// joinSide is an input of a join with its description.
type joinSide struct {
	*table
	header *format.Header
}

// randomSide returns sorted records with a key and other bytes.
func randomSide(t *testing.T, random *rand.Rand, keyType string) *joinSide {
	t.Helper()
	typ := formattest.Bare(t, keyType).Key[0].Type
	typ.BigEndian = typ.Size > 1 && typ.Kind != format.Bytes && random.IntN(2) == 0
	offset := random.IntN(4)
	spec := format.Spec{RecordSize: offset + typ.Size + random.IntN(5), Keys: []string{fmt.Sprintf("%d:%v", offset, typ)}}
	header := formattest.Header(t, spec)
	keyer := formattest.KeyerOf(t, header.Layout())
	return &joinSide{randomRecords(random, keyer, random.IntN(40), 1+random.IntN(20)), header}
}

// key returns the key bytes of a record in little-endian order, if the type has a byte order.
func (s *joinSide) key(rec []byte) []byte {
	f := s.header.Layout().Key[0]
	key := slices.Clone(rec[f.Offset : f.Offset+f.Type.Size])
	if f.Type.BigEndian {
		slices.Reverse(key)
	}
	return key
}

// rest returns the bytes of a record without the key.
func (s *joinSide) rest(rec []byte) []byte {
	f := s.header.Layout().Key[0]
	return slices.Concat(rec[:f.Offset], rec[f.Offset+f.Type.Size:])
}

// empty returns a record that consists of zeros and a key.
func (s *joinSide) empty(key []byte) []byte {
	f := s.header.Layout().Key[0]
	rec := make([]byte, s.header.Layout().RecordSize)
	to := rec[f.Offset : f.Offset+f.Type.Size]
	copy(to, key)
	if f.Type.BigEndian {
		slices.Reverse(to)
	}
	return rec
}

// joined is a simple join in memory: nested loops, then a stable sort.
func joined(a, b *joinSide, join sets.JoinType, presence bool) []byte {
	type row struct {
		key   []byte
		bytes []byte
	}
	var rows []row
	add := func(keyer *format.Keyer, rec []byte, from byte, parts ...[]byte) {
		if presence {
			parts = append(parts, []byte{from})
		}
		rows = append(rows, row{keyer.Append(nil, rec), slices.Concat(parts...)})
	}
	hasPartner := make([]bool, len(b.recs))
	for _, recA := range a.recs {
		found := false
		for j, recB := range b.recs {
			if bytes.Equal(a.keyer.Append(nil, recA), b.keyer.Append(nil, recB)) {
				found = true
				hasPartner[j] = true
				add(a.keyer, recA, 3, recA, b.rest(recB))
			}
		}
		if !found && (join == sets.LeftJoin || join == sets.OuterJoin) {
			none := make([]byte, len(b.rest(b.empty(nil))))
			add(a.keyer, recA, 1, recA, none)
		}
	}
	for j, recB := range b.recs {
		if !hasPartner[j] && (join == sets.RightJoin || join == sets.OuterJoin) {
			add(b.keyer, recB, 2, a.empty(b.key(recB)), b.rest(recB))
		}
	}
	slices.SortStableFunc(rows, func(x, y row) int { return cmp.Compare(string(x.key), string(y.key)) })
	var all []byte
	for _, r := range rows {
		all = append(all, r.bytes...)
	}
	return all
}

// memoryRun is a temporary run in memory.
type memoryRun struct {
	recs   []byte
	opened *int
	fault  error
}

func (m *memoryRun) WriteBlock(_ context.Context, _ int64, recs []byte) error {
	m.recs = append(m.recs, recs...)
	return nil
}

func (m *memoryRun) Replay(_ context.Context, f func(recs []byte) error) error {
	if m.fault != nil {
		return m.fault
	}
	return f(m.recs)
}

func (m *memoryRun) Close() error {
	*m.opened--
	return nil
}

// TestJoin compares all joins with a simple reference: random layouts, types and byte orders,
// duplicates, empty inputs, groups that are larger than a block, and groups that spill.
func TestJoin(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 6))
	rounds := 3000
	if testing.Short() {
		rounds = 600
	}
	spilled := 0
	for round := range rounds {
		keyType := keyTypes[random.IntN(len(keyTypes))]
		a := randomSide(t, random, keyType)
		b := randomSide(t, random, keyType)
		join := sets.JoinType(random.IntN(4))
		presence := random.IntN(2) == 0
		row, err := sets.NewRow(a.header, b.header, sets.RowOptions{Presence: presence})
		if err != nil {
			t.Fatal(err)
		}
		out := &devicetest.Collector{Size: row.Size}
		opened := 0
		opt := sets.Options{
			Operation: sets.Join,
			Inputs:    inputs([]*table{a.table, b.table}, random),
			Outputs:   sets.Outputs{Result: out},
			Join: &sets.JoinOptions{
				Type:       join,
				Row:        row,
				GroupBytes: random.Int64N(50),
				NewRun: func(context.Context) (sets.TemporaryRun, error) {
					spilled++
					opened++
					return &memoryRun{opened: &opened}, nil
				},
			},
			Workers:      1 + random.IntN(3),
			BlockRecords: 1 + random.IntN(10),
		}
		if _, err := sets.Run(t.Context(), opt); err != nil {
			t.Fatal(err)
		}
		if got, want := out.Written(t), joined(a, b, join, presence); !bytes.Equal(got, want) {
			t.Fatalf("round %d: join %d of %s, presence %v: %d bytes differ from %d\n%x\n%x", round, join, keyType, presence,
				len(got), len(want), got, want)
		}
		if opened != 0 {
			t.Fatalf("round %d: %d temporary runs stay open", round, opened)
		}
	}
	if spilled < rounds/20 {
		t.Errorf("only %d groups of %d joins were stored in temporary runs", spilled, rounds)
	}
}

// TestJoinFailures checks that errors of temporary runs end a join.
func TestJoinFailures(t *testing.T) {
	keyer := formattest.KeyerOf(t, formattest.Bare(t, "u8"))
	failed := errors.New("the disk is full")
	opened := 1
	for name, newRun := range map[string]func(context.Context) (sets.TemporaryRun, error){
		"create": func(context.Context) (sets.TemporaryRun, error) { return nil, failed },
		"replay": func(context.Context) (sets.TemporaryRun, error) {
			return &memoryRun{opened: &opened, fault: failed}, nil
		},
	} {
		opt := sets.Options{
			Operation: sets.Join,
			Outputs:   sets.Outputs{Result: &devicetest.Collector{Size: 1}},
			Join: &sets.JoinOptions{
				Row:    sets.Row{Size: 1, Both: sets.Shape{Rest: []byte{1}}},
				NewRun: newRun,
			},
			BlockRecords: 2,
		}
		for range 2 {
			same := bytes.NewReader(make([]byte, 20))
			opt.Inputs = append(opt.Inputs, sets.Input{Records: same, Keyer: keyer, Read: func([]byte) {}})
		}
		if _, err := sets.Run(t.Context(), opt); !errors.Is(err, failed) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if opened != 0 {
		t.Error("the temporary run stays open")
	}
}

// TestNewRow lists columns of rows, and the rows of records without a partner.
func TestNewRow(t *testing.T) {
	a := formattest.Header(t, format.Spec{Fields: "id=u16 x=u8 rest=bytes2", RecordSize: 6, Keys: []string{"id"}})
	b := formattest.Header(t, format.Spec{Fields: "y=u8 id=u16be", Keys: []string{"id"}})
	nines := func(c format.Column) ([]byte, error) { return bytes.Repeat([]byte{9}, c.Type.Size), nil }
	for _, test := range []struct {
		columns string
		want    string // the row, or the beginning of an error
	}{
		{"", "key 9 9 9 0 y"},
		{"a.x,b.y", "9 y"},
		{"b.id,a.id,b.y", "key key y"},
		{"b,a.x", "y key 9"},
		{"a.5:u8,a.2:u16,b.y", "9 9 9 y"},
		{"b.y,b.y", "y y"},
		{"a.z", `column "a.z": no such field; a has id, x, rest, byte5`},
		{"id", `column "id": want a.NAME or b.NAME, a.OFFSET:TYPE, a or b`},
		{"c.id", `column "c.id": want a.NAME or b.NAME, a.OFFSET:TYPE, a or b`},
		{"a.5:u32", `column "a.5:u32" ends at byte 9, but a record of a has 6`},
		{"a.1:u16", "key 9"}, // the second half of the key
		{"a.1:x", `column "a.1:x": `},
	} {
		var opt sets.RowOptions
		opt.Fill = nines
		if test.columns != "" {
			opt.Columns = strings.Split(test.columns, ",")
		}
		row, err := sets.NewRow(a, b, opt)
		if err != nil {
			if !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("%s: %v", test.columns, err)
			}
			continue
		}
		if got := describeOnlyB(row); got != test.want {
			t.Errorf("%s: the row is %s, want %s", test.columns, got, test.want)
		}
	}
}

// TestRowsOfPartialKeys joins a record of B without a partner, and writes any bytes of A: keys, parts of keys, and keys
// that overlap. The reference stores the keys of B one by one in a record of zeros.
func TestRowsOfPartialKeys(t *testing.T) {
	random := formattest.Random(t)
	types := []string{"u8", "u16", "i32", "f64", "bytes5", "ucs3"}
	const sizeA = 24
	for range 1000 {
		var a, b []string
		recA := make([]byte, sizeA)
		var recB []byte
		for range 1 + random.IntN(3) {
			typ := formattest.Bare(t, types[random.IntN(len(types))]).Key[0].Type
			at := random.IntN(sizeA - typ.Size + 1)
			value := formattest.Bytes(random, typ.Size)
			a = append(a, fmt.Sprintf("%d:%v", at, typ))
			copy(recA[at:], value)
			if hasOrder := typ.Size > 1 && typ.Kind != format.Bytes; hasOrder && random.IntN(2) == 0 {
				typ.BigEndian = true
				for word := range slices.Chunk(value, cmp.Or(map[format.Kind]int{format.UCS: 4}[typ.Kind], typ.Size)) {
					slices.Reverse(word)
				}
			}
			b = append(b, fmt.Sprintf("%d:%v", len(recB), typ))
			recB = append(recB, value...)
		}
		from := random.IntN(sizeA)
		want := recA[from : from+1+random.IntN(sizeA-from)]
		headerA := formattest.Header(t, format.Spec{RecordSize: sizeA, Keys: a})
		headerB := formattest.Header(t, format.Spec{RecordSize: len(recB), Keys: b})
		columns := []string{fmt.Sprintf("a.%d:bytes%d", from, len(want))}
		row, err := sets.NewRow(headerA, headerB, sets.RowOptions{Columns: columns})
		if err != nil {
			t.Fatal(err)
		}
		out := &devicetest.Collector{Size: row.Size}
		opt := sets.Options{
			Operation:    sets.Join,
			Outputs:      sets.Outputs{Result: out},
			Join:         &sets.JoinOptions{Type: sets.RightJoin, Row: row},
			BlockRecords: 2,
			Inputs: []sets.Input{
				{Records: bytes.NewReader(nil), Keyer: formattest.KeyerOf(t, headerA.Layout()), Read: func([]byte) {}},
				{Records: bytes.NewReader(recB), Keyer: formattest.KeyerOf(t, headerB.Layout()), Read: func([]byte) {}},
			},
		}
		if _, err := sets.Run(t.Context(), opt); err != nil {
			t.Fatal(err)
		}
		if got := out.Written(t); !bytes.Equal(got, want) {
			t.Fatalf("%v of keys %v, from %v: %x, want %x", columns, a, b, got, want)
		}
	}
}

// describeOnlyB describes the row of a record of B without a partner: the record of TestNewRow has
// y in its first byte, and its key after it.
func describeOnlyB(row sets.Row) string {
	words := make([]string, row.Size)
	for i, b := range row.OnlyB.Rest {
		words[i] = fmt.Sprint(b)
	}
	for _, c := range row.OnlyB.Copies {
		for i := range c.Size {
			name := "y"
			if c.From+i > 0 {
				name = "key"
			}
			if i > 0 && c.From+i > 1 {
				name = ""
			}
			words[c.To+i] = name
		}
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}
