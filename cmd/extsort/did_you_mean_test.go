package main

import (
	"testing"

	"github.com/extsort/extsort/format"
)

func TestTypesHaveOtherNames(t *testing.T) {
	for name, want := range map[string]string{
		"u32": "u32", "uint64": "u64", "int64": "i64", "double": "f64", "float": "f32", "float64": "f64", "U64": "u64",
		"<u8": "u64", ">f4": "f32be", "|u1": "u8", "=i2": "i16", "<f2": "f16", "<c16": "<c16",
		"u32le": "u32", "UINT16BE": "u16be", "i8be": "i8be", "Bytes10": "bytes10", "byte": "u8", "floatbe": "f32be",
		"u33": "u33", "": "", "table": "table", "uint64_t": "u64", "int8_t": "i8", "uint16_t": "u16", "int24": "i24",
		"int": "i32", "long": "i64", "short": "i16", "unsigned": "u32", "size_t": "u64", "bool": "u8", "s8": "i8",
		"s16": "i16", "s24": "i24", "s32": "i32", "s64be": "i64be", "uuid": "bytes16", "UUID": "bytes16", "md5": "bytes16",
		"sha1": "bytes20", "sha256": "bytes32", "char10": "bytes10", "S10": "bytes10", "|S8": "bytes8", "<U5": "ucs5",
		"FI4": "i32be", "FI3": "i24be", "BI8": "u64be", "BI1": "u8", "BI7": "bytes7", "CH10": "bytes10", "ch3": "bytes3",
		"float80": "f80", "float96": "f80in96", "<f12": "f80in96", ">f16": "f80in128be", "bfloat16be": "bf16be",
		"longbe": "i64be", "doublele": "f64", "|b1": "u8", "<u3": "<u3", "<u16": "<u16", "S32": "S32", "FI7": "FI7",
		"float128": "float128", "CH0": "CH0", "CH99999999999999999999": "CH99999999999999999999",
	} {
		if got := typeName(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	for key, want := range map[string]string{
		"8:uint32be:desc": "8:u32be:desc", "0:double": "0:f64", "price": "price", "price:desc": "price:desc",
		"double:float": "double:float", "8": "8",
	} {
		if got := keyName(key); got != want {
			t.Errorf("key %q is %q, want %q", key, got, want)
		}
	}
}

func TestNearestType(t *testing.T) {
	for name, want := range map[string]string{
		"doubel": "f64", "flot32": "f32", "unit64": "u64", "unit64_t": "u64", "uint64b": "", "itn32be": "i32be",
		"byts10": "bytes10", "shrot": "i16", "duoble": "f64", "doubelbe": "f64be", "S32": "bytes32 or i32", "char": "bytes10",
		"bytes": "bytes10", "FI": "FI4, which is i32be", "BI": "BI4, which is u32be", "CH": "bytes10",
		"x": "", "text": "", "<c16": "", "unt32": "", "y64": "",

		// Another kind or byte order would change the order. If the width is off by one bit, it
		// is a typing error.
		"u65": "u64", "int63": "i64", "u31": "u32", "i31be": "i32be",
		"u46": "", "uint46": "", "i56": "", "s56": "", "f24": "", "f128": "", "float128": "",
		"u56be": "", "u80be": "", "u160be": "", "u80": "", "f48be": "", "FI7": "", "<u3": "",
	} {
		if got := nearestType(format.Spec{Type: name}); got != want {
			t.Errorf("-t %s: did you mean %q? want %q", name, got, want)
		}
		if got := nearestType(format.Spec{Keys: []string{"0:u8", "8:" + name + ":desc"}}); got != want {
			t.Errorf("-k 8:%s: did you mean %q? want %q", name, got, want)
		}
	}
}

func TestCounts(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "10k": 10_000, "10K": 10_000, "2M": 2_000_000, "3G": 3_000_000_000,
		"1Ki": 1024, "2mi": 2 << 20, "1Gi": 1 << 30,
		"1e6": 1_000_000, "10_000_000": 10_000_000, "2^20": 1 << 20, "1.5k": 1500, "9223372036854775807": 1<<63 - 1,
		"4E":   4e18,
		"2e3k": 2_000_000,
		"":     0, "x": 0, "1.9": 0, "1.0001k": 0, "-3": 0, "1KB": 0, "1,000": 0, "2^64": 0,
		"1e19": 0, "1__0": 0, "1_": 0, "k": 0,
		"3^2": 0, "9007199254740993": 1<<53 + 1, "1.1M": 1_100_000, "0.0000001k": 0, "1.25e1": 0, "1.5e1": 15,
		"1.99999999999999999999e0": 0, "1/2": 0, "0x10": 0, "+1": 0,
	} {
		got, err := parseCount(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"4K": 4096, "4k": 4096, "1MB": 1_000_000, "1MiB": 1 << 20, "2^30": 1 << 30, "1e9": 1_000_000_000, "1_000K": 1_024_000,
		"1.5G": 3 << 29, "2^3K": 8192,
		"": 0, "x": 0, "1,5": 0, "1e30": 0, "2^63": 0, "1.9": 0, "8.9": 0, "0.3K": 0, "1.25e1": 0, "1.25e1K": 12800,
		"1.99999999999999999999e0": 0,
	} {
		got, err := parseSize(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
}
