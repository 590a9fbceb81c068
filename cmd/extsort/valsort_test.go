package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/big"
	"math/bits"
	"strings"
	"testing"
)

// gensortRecords generates the records that gensort writes without flags
// (http://www.ordinal.com/gensort.html). The key consists of the first ten bytes of a 128-bit
// number of a linear congruential generator; the number's last twelve hexadecimal digits are the
// filler.
//
//	00  key     10 bytes
//	10  00 11
//	12  number  of the record, 32 hexadecimal digits
//	44  88 99 AA BB
//	48  filler  12 digits, each four times
//	96  CC DD EE FF
type gensortRecords struct{ number, hi, lo uint64 }

func (g *gensortRecords) next(record *[100]byte) {
	const factorHi, factorLo = 0x2360ed051fc65da4, 0x4385df649fccf645
	const addHi, addLo = 0x4a696d4772617952, 0x4950202020202001 // JimGrayRIP
	hi, lo := bits.Mul64(g.lo, factorLo)
	hi += g.hi*factorLo + g.lo*factorHi
	lo, carry := bits.Add64(lo, addLo, 0)
	hi, _ = bits.Add64(hi, addHi, carry)
	g.hi, g.lo = hi, lo

	binary.BigEndian.PutUint64(record[0:], hi)
	binary.BigEndian.PutUint16(record[8:], uint16(lo>>48))
	copy(record[10:], "\x00\x11"+"0000000000000000")
	for i := range 16 {
		record[28+i] = hexDigit(g.number >> (60 - 4*i))
	}
	copy(record[44:], "\x88\x99\xaa\xbb")
	for i := range 48 {
		record[48+i] = hexDigit(lo >> (44 - 4*(i/4)))
	}
	copy(record[96:], "\xcc\xdd\xee\xff")
	g.number++
}

func hexDigit(v uint64) byte { return "0123456789ABCDEF"[v&15] }

// valsortSum returns the sum of the CRC-32 of all records, which valsort prints.
func valsortSum(records []byte, size int) *big.Int {
	sum := new(big.Int)
	for at := 0; at < len(records); at += size {
		sum.Add(sum, big.NewInt(int64(crc32.ChecksumIEEE(records[at:at+size]))))
	}
	return sum
}

// gensortData returns the first n records.
func gensortData(n int) []byte {
	data := make([]byte, 0, n*100)
	var record [100]byte
	for g := (gensortRecords{}); len(data) < cap(data); data = append(data, record[:]...) {
		g.next(&record)
	}
	return data
}

// publishedMillion is the sum of the first million records according to Hadoop's TeraValidate.
// TeraGen writes gensort's records (https://github.com/apache/ignite, HadoopTeraSortTest, and
// many courses). The published sum of 100 million records, 2fafbaf537afd49, also equals the sum
// of these records.
const publishedMillion = "7a27e2d0d55de"

// checkedSum returns the checksum that a sort prints with --verify, which must equal the one that
// -c prints for its output.
func checkedSum(t *testing.T, data []byte, record ...string) *big.Int {
	t.Helper()
	var sorted, verified, checked bytes.Buffer
	sort := append(record, "--verify", "--stats=json")
	if status := run(t.Context(), sort, bytes.NewReader(data), &sorted, &verified); status != exitDone {
		t.Fatalf("sort: exit status %d: %s", status, &verified)
	}
	check := append(record, "-c", "--stats=json")
	if status := run(t.Context(), check, &sorted, &bytes.Buffer{}, &checked); status != exitDone {
		t.Fatalf("check: exit status %d: %s", status, &checked)
	}
	var report struct {
		Verified string `json:"checksum_out"`
		Checked  string `json:"checksum"`
	}
	if err := cmp.Or(json.Unmarshal(verified.Bytes(), &report), json.Unmarshal(checked.Bytes(), &report)); err != nil {
		t.Fatalf("%v: %s%s", err, &verified, &checked)
	}
	sum, ok := new(big.Int).SetString(report.Checked, 16)
	if !ok || report.Checked != report.Verified {
		t.Fatalf("checksum %q, and by --verify %q", report.Checked, report.Verified)
	}
	return sum
}

// TestValsort compares the checksum of any kind of record with a sum of CRC-32 that the standard
// library computes, and the sums of the parts of a file with the sum of the whole.
func TestValsort(t *testing.T) {
	const half = 7_000 * 100
	data := gensortData(20_000)
	sizes := map[string]int{"-f gensort": 100, "-t u32": 4, "-t f64": 8, "-t u8": 1, "-R 25 -k 3:u16": 25}
	for record, size := range sizes {
		flags := strings.Fields(record)
		whole := checkedSum(t, data, flags...)
		if want := valsortSum(data, size); whole.Cmp(want) != 0 {
			t.Errorf("%s: the checksum is %x, valsort's is %x", record, whole, want)
		}
		parts := new(big.Int).Add(checkedSum(t, data[:half], flags...), checkedSum(t, data[half:], flags...))
		if parts.Cmp(whole) != 0 {
			t.Errorf("%s: the checksums of the parts add up to %x, that of the whole is %x", record, parts, whole)
		}
	}
}

// TestValsortPublished sorts the records of the published sum.
func TestValsortPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("100 MB")
	}
	if sum := fmt.Sprintf("%x", checkedSum(t, gensortData(1_000_000), "-f", "gensort")); sum != publishedMillion {
		t.Errorf("the checksum is %s, published is %s", sum, publishedMillion)
	}
}
