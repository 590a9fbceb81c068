package lookup

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"sort"
	"strings"
	"sync/atomic"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
)

// An index file contains the first key of each block of a sorted file:
//
//	bytes
//	16       "extsort index 1\n"
//	4        length of the description, little-endian, like all numbers
//	4        CRC-32C of the description
//	…        the description, in JSON
//	…        for each page: the first key of the page, and the CRC-32C of the page
//	4        CRC-32C of the table of pages
//	…        pages: the first keys of up to page_blocks blocks each, normalized and cut to key_bytes
//
// The table of pages and a page have about the same size. For a file of up to 16 GiB, both have at most
// a few KiB: one read of firstReadBytes contains everything up to the table, and a look-up reads one
// page. Each part has a checksum, which is compared when the part is read.
const magic = anyMagic + "1\n"

// anyMagic begins the indexes of all versions.
const anyMagic = "extsort index "

const (
	minPageBlocks  = 512      // minimum number of blocks per page, except for the last page
	oldPageBlocks  = 8192     // blocks per page if the description does not say it
	maxPageBlocks  = 1 << 24  // larger numbers are invalid
	firstReadBytes = 16 << 10 // size of the first read
	maxKeyBytes    = 32       // longer keys are cut
	crcBytes       = 4
	maxDescription = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// An Identity identifies the sorted file that an index belongs to, and the layout of its records.
type Identity struct {
	Stamp   string `json:"stamp"`  // size and modification time of the file
	Layout  string `json:"layout"` // layout, order and position of its records
	Records int64  `json:"records"`
}

// A description describes an index.
type description struct {
	Identity
	BlockRecords int64 `json:"block_records"`
	KeyBytes     int   `json:"key_bytes"`   // bytes of a key in the index
	PageBlocks   int64 `json:"page_blocks"` // maximum number of blocks of a page
}

// blocks returns the number of blocks.
func (d *description) blocks() int64 {
	return (d.Records + d.BlockRecords - 1) / d.BlockRecords
}

func (d *description) pages() int64 {
	return (d.blocks() + d.PageBlocks - 1) / d.PageBlocks
}

// evenPages returns the number of blocks per page with which a page has about as many entries as the
// table of pages.
func (d *description) evenPages() int64 {
	page := int64(minPageBlocks)
	for page < maxPageBlocks && d.blocks()/page > page {
		page *= 2
	}
	return page
}

// pageBytes returns the size of a page.
func (d *description) pageBytes(page int64) int64 {
	return min(d.PageBlocks, d.blocks()-page*d.PageBlocks) * int64(d.KeyBytes)
}

// An Index limits searches to a few blocks of a table. It is safe for concurrent use.
type Index struct {
	name string
	desc description
	from io.ReaderAt
	head []byte // the first bytes, until the index is open
	// table contains the first key of each page and its checksum.
	table []byte
	start int64 // offset of the first page
	pages []atomic.Pointer[[]byte]
	whole bool // keys are not cut
}

// A StaleError reports an index that belongs to another version of the file, or to another order.
type StaleError struct {
	Index  string
	Reason string
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("index %s: %s: build the index again, or remove it", e.Index, e.Reason)
}

// A DamagedError reports an index whose bytes are wrong.
type DamagedError struct {
	Index  string
	Reason string // empty: it is not an index of this version, and perhaps a file of the user
}

func (e *DamagedError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("%s is not an index of this version: name another index, or none", e.Index)
	}
	return fmt.Sprintf("index %s is damaged (%s): build the index again, or remove it", e.Index, e.Reason)
}

// readIndex opens the index in from, and checks that it belongs to the file with the given
// identity. from must be safe for concurrent reads.
func readIndex(name string, from io.ReaderAt, size int64, identity Identity, keyer *format.Keyer) (*Index, error) {
	x := &Index{name: name, from: from}
	head, err := x.readAt(min(size, firstReadBytes), 0)
	if err != nil {
		return nil, err
	}
	x.head = head
	if err := x.readDescription(size); err != nil {
		return nil, err
	}
	if err := x.check(identity, keyer); err != nil {
		return nil, err
	}
	if err := x.readTable(size); err != nil {
		return nil, err
	}
	x.head = nil
	x.pages = make([]atomic.Pointer[[]byte], x.desc.pages())
	x.whole = x.desc.KeyBytes == keyer.KeySize()
	return x, nil
}

func (x *Index) damaged(reason string) error {
	return &DamagedError{x.name, reason}
}

func (x *Index) stale(reason string) error {
	return &StaleError{x.name, reason}
}

// readAt reads a part of the index, or returns an error that names the index.
func (x *Index) readAt(n, offset int64) ([]byte, error) {
	if end := offset + n; end <= int64(len(x.head)) {
		return x.head[offset:end:end], nil
	}
	p := make([]byte, n)
	if got, err := x.from.ReadAt(p, offset); got < len(p) {
		if err == nil || err == io.EOF {
			return nil, x.damaged("it is truncated")
		}
		return nil, fmt.Errorf("read index %s: %w", x.name, err)
	}
	return p, nil
}

// headBytes is the number of bytes before the description.
const headBytes = len(magic) + 4 + crcBytes

func (x *Index) readDescription(size int64) error {
	if !strings.HasPrefix(magic, string(x.head[:min(len(magic), len(x.head))])) {
		return x.damaged("")
	}
	if size < int64(headBytes) {
		return x.damaged("it is truncated")
	}
	head, err := x.readAt(int64(headBytes), 0)
	if err != nil {
		return err
	}
	length := int64(binary.LittleEndian.Uint32(head[len(magic):]))
	if length > min(maxDescription, size-int64(headBytes)) {
		return x.damaged("it is truncated")
	}
	text, err := x.readAt(length, int64(headBytes))
	if err != nil {
		return err
	}
	if crc32.Checksum(text, castagnoli) != binary.LittleEndian.Uint32(head[len(magic)+4:]) {
		return x.damaged("wrong checksum of its description")
	}
	if err := json.Unmarshal(text, &x.desc); err != nil {
		return x.damaged("its description is invalid")
	}
	if x.desc.PageBlocks == 0 {
		x.desc.PageBlocks = oldPageBlocks
	}
	x.start = int64(headBytes) + length
	return nil
}

// check compares the description with the file.
func (x *Index) check(identity Identity, keyer *format.Keyer) error {
	d := &x.desc
	switch {
	case d.Layout != identity.Layout:
		return x.stale("it is for other records or another order")
	case d.Stamp != identity.Stamp || d.Records != identity.Records:
		return x.stale("the file has changed since the index was built")
	case d.BlockRecords < 1 || d.KeyBytes != min(keyer.KeySize(), maxKeyBytes),
		d.PageBlocks < 1 || d.PageBlocks > maxPageBlocks:
		return x.damaged("its description is invalid")
	}
	return nil
}

// readTable reads the table of pages, and checks the size of the index.
func (x *Index) readTable(size int64) error {
	pages := x.desc.pages()
	entry := int64(x.desc.KeyBytes + crcBytes)
	want := x.start + pages*entry + crcBytes + x.desc.blocks()*int64(x.desc.KeyBytes)
	if size != want {
		return x.damaged(fmt.Sprintf("it has %d bytes instead of %d", size, want))
	}
	all, err := x.readAt(pages*entry+crcBytes, x.start)
	if err != nil {
		return err
	}
	x.table = all[:pages*entry]
	if crc32.Checksum(x.table, castagnoli) != binary.LittleEndian.Uint32(all[pages*entry:]) {
		return x.damaged("wrong checksum of its table of pages")
	}
	x.start += int64(len(all))
	return nil
}

// page returns a page. It reads each page only once.
func (x *Index) page(number int64) ([]byte, error) {
	if p := x.pages[number].Load(); p != nil {
		return *p, nil
	}
	offset := x.start + number*x.desc.PageBlocks*int64(x.desc.KeyBytes)
	p, err := x.readAt(x.desc.pageBytes(number), offset)
	if err != nil {
		return nil, err
	}
	entry := x.entry(number)
	if crc32.Checksum(p, castagnoli) != binary.LittleEndian.Uint32(entry[x.desc.KeyBytes:]) {
		return nil, x.damaged(fmt.Sprintf("wrong checksum of page %d", number))
	}
	x.pages[number].Store(&p)
	return p, nil
}

// entry returns the entry of a page in the table of pages.
func (x *Index) entry(page int64) []byte {
	size := int64(x.desc.KeyBytes + crcBytes)
	return x.table[page*size:][:size]
}

// narrow limits a search to the blocks that may contain its boundary.
func (x *Index) narrow(s *search) error {
	// A key of the index may be cut. If it is equal to the beginning of s.key, its record can be on
	// either side of the boundary.
	exact := len(s.key) <= x.desc.KeyBytes
	before := func(key []byte) bool { // certainly before the boundary
		order := x.compare(key, s.key)
		return order < 0 || order == 0 && exact && s.after
	}
	notBehind := func(key []byte) bool { // possibly before the boundary
		order := x.compare(key, s.key)
		return order < 0 || order == 0 && (!exact || s.after)
	}

	low, lowKey, err := x.last(before)
	if err != nil {
		return err
	}
	high, highKey := low, []byte(nil)
	if !exact {
		if high, _, err = x.last(notBehind); err != nil {
			return err
		}
	}
	if low >= 0 {
		x.raise(s, low*x.desc.BlockRecords+1, lowKey)
	}
	if high+1 < x.desc.blocks() {
		if highKey, err = x.key(high + 1); err != nil {
			return err
		}
		x.lower(s, (high+1)*x.desc.BlockRecords, highKey)
	}
	return nil
}

// raise raises the lower end of a search to low. key is the key of record low-1.
func (x *Index) raise(s *search, low int64, key []byte) {
	if low <= s.low {
		return
	}
	s.low = min(low, s.high)
	s.lowKey = nil
	if x.whole {
		s.lowKey = key
	}
}

// lower lowers the upper end of a search to high. key is the key of record high.
func (x *Index) lower(s *search, high int64, key []byte) {
	if high >= s.high {
		return
	}
	s.high = max(high, s.low)
	s.highKey = nil
	if x.whole {
		s.highKey = key
	}
}

// compare compares a key of the index with the beginning of a normalized key.
func (x *Index) compare(key, beginning []byte) int {
	n := min(len(key), len(beginning))
	return bytes.Compare(key[:n], beginning[:n])
}

// last returns the last block whose key satisfies holds, or -1 if there is none. All keys that
// satisfy holds must precede all others.
func (x *Index) last(holds func(key []byte) bool) (block int64, key []byte, err error) {
	pages := len(x.pages)
	page := sort.Search(pages, func(i int) bool { return !holds(x.entry(int64(i))[:x.desc.KeyBytes]) }) - 1
	if page < 0 {
		return -1, nil, nil
	}
	keys, err := x.page(int64(page))
	if err != nil {
		return 0, nil, err
	}
	size := x.desc.KeyBytes
	at := sort.Search(len(keys)/size, func(i int) bool { return !holds(keys[i*size:][:size]) }) - 1
	if at < 0 {
		return 0, nil, x.damaged(fmt.Sprintf("page %d does not begin with its key", page))
	}
	return int64(page)*x.desc.PageBlocks + int64(at), keys[at*size:][:size], nil
}

// key returns the key of a block.
func (x *Index) key(block int64) ([]byte, error) {
	size := int64(x.desc.KeyBytes)
	page := block / x.desc.PageBlocks
	at := block % x.desc.PageBlocks
	if at == 0 {
		return x.entry(page)[:size], nil
	}
	keys, err := x.page(page)
	if err != nil {
		return nil, err
	}
	return keys[at*size:][:size], nil
}

// writeIndex writes the index of a sorted table. It reads all records, and checks that they are in
// order.
func writeIndex(ctx context.Context, t *Table, identity Identity, to io.Writer) error {
	d := description{
		Identity:     identity,
		BlockRecords: int64(max(blockBytes/t.size, 1)),
		KeyBytes:     min(t.keyer.KeySize(), maxKeyBytes),
	}
	d.PageBlocks = d.evenPages()
	keys, err := t.blockKeys(ctx, &d)
	if err != nil {
		return err
	}
	return d.write(to, keys)
}

// write writes an index that contains the given keys.
func (d *description) write(to io.Writer, keys []byte) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}

	head := append([]byte(nil), magic...)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(text)))
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(text, castagnoli))
	head = append(head, text...)
	start := len(head)
	rest := keys
	for page := range d.pages() {
		n := d.pageBytes(page)
		head = append(head, rest[:d.KeyBytes]...)
		head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(rest[:n], castagnoli))
		rest = rest[n:]
	}
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(head[start:], castagnoli))
	if _, err := to.Write(head); err != nil {
		return err
	}
	_, err = to.Write(keys)
	return err
}

// blockKeys returns the first key of each block. It reads and checks all records.
func (t *Table) blockKeys(ctx context.Context, d *description) ([]byte, error) {
	const readBytes = 1 << 20 // size of one read
	size := int64(t.size)
	perRead := max(readBytes/(d.BlockRecords*size), 1) * d.BlockRecords
	keys := make([]byte, d.blocks()*int64(d.KeyBytes))
	var order format.OrderCheck
	var next atomic.Int64

	group, ctx := safely.WithContext(ctx)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			buffer := make([]byte, min(perRead, d.Records)*size)
			var key []byte
			for {
				first := next.Add(perRead) - perRead
				n := min(perRead, d.Records-first)
				if n <= 0 {
					return nil
				}
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				recs := buffer[:n*size]
				if err := t.source.ReadRecords(recs, first); err != nil {
					return err
				}
				order.Add(format.CheckBlock(t.keyer, first, recs))
				for at := int64(0); at < n; at += d.BlockRecords {
					key = t.keyer.Append(key[:0], recs[at*size:])
					block := (first + at) / d.BlockRecords
					copy(keys[block*int64(d.KeyBytes):][:d.KeyBytes], key)
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}

	result, err := order.Result()
	if err != nil {
		return nil, err
	}
	if result.Records != d.Records {
		return nil, errors.New("some records were not read")
	}
	if at := result.FirstFault(false); at >= 0 {
		key, before := result.FaultKeys(false)
		return nil, t.disorder(before, key, at-1, at)
	}
	return keys, nil
}
