//! Hashes and accesses of a block in the words of an architecture.
//!
//! ```text
//! v1model   register.read(cell, index); code; register.write(index, cell);
//! TNA       result = RegisterAction { void apply(inout cell, out result) { code } }.execute(index)
//! ```

use crate::{Access, Arch, Body, Hash};
use std::fmt::Write;

impl Arch {
    /// Include lines of a program for it.
    pub(crate) fn includes(self) -> &'static str {
        match self {
            Arch::V1Model => {
                "#include <core.p4>
#include <v1model.p4>
#ifndef P4RACK_REGISTER
#if V1MODEL_VERSION >= 20200408
#define P4RACK_REGISTER(T, N) register<T, bit<32>>(N)
#else
#define P4RACK_REGISTER(T, N) register<T>(N)
#endif
#endif
"
            }
            Arch::Tna => "#include <core.p4>\n#include <tna.p4>\n",
        }
    }

    /// The members and statements of a body, hashes and accesses written out.
    pub(crate) fn written(self, body: &Body) -> (String, String) {
        let mut members = String::new();
        for Hash { name, bits, .. } in &body.hashes {
            let _ = writeln!(members, "bit<32> {name};");
            if self == Arch::Tna {
                let _ = writeln!(members, "Hash<bit<{bits}>>(HashAlgorithm_t.CRC32) hash_of_{name};");
            }
        }
        members += &body.members;
        for access in &body.accesses {
            let _ = writeln!(members, "bit<{}> {};", access.result_bits, access.result);
            members += &self.register(access);
        }
        let mut apply = String::new();
        for line in body.apply.lines() {
            let Some(name) = line.strip_prefix('@') else {
                let _ = writeln!(apply, "{line}");
                continue;
            };
            let hashes = body.hashes.iter().filter(|hash| hash.name == name);
            apply.extend(hashes.map(|hash| self.hash(hash)));
            let accesses = body.accesses.iter().filter(|access| access.register == name);
            apply.extend(accesses.map(|access| self.access(access)));
        }
        (members, apply)
    }

    fn hash(self, Hash { name, data, bits }: &Hash) -> String {
        match self {
            Arch::V1Model => {
                format!("hash({name}, HashAlgorithm.crc32, 32w0, {data}, 32w{});\n", 1u64 << bits)
            }
            Arch::Tna => format!("{name} = (bit<32>)hash_of_{name}.get({data});\n"),
        }
    }

    fn register(self, access: &Access) -> String {
        let Access { register, cells, bits, result_bits, code, .. } = access;
        if self == Arch::V1Model {
            return format!("P4RACK_REGISTER(bit<{bits}>, {cells}) {register};\n");
        }
        let container = container(*bits);
        let code = code.replace('$', "result");
        let code = match container == *bits {
            true => code,
            false => {
                format!("bit<{bits}> cell = whole[{}:0];\n{code}whole = (bit<{container}>)cell;\n", bits - 1)
            }
        };
        let name = if container == *bits { "cell" } else { "whole" };
        let code: String = code.lines().map(|line| format!("        {line}\n")).collect();
        format!(
            "Register<bit<{container}>, bit<32>>({cells}) {register};
RegisterAction<bit<{container}>, bit<32>, bit<{result_bits}>>({register}) access_of_{register} = {{
    void apply(inout bit<{container}> {name}, out bit<{result_bits}> result) {{
{code}    }}
}};
"
        )
    }

    fn access(self, access: &Access) -> String {
        let Access { register, bits, index, result, code, .. } = access;
        if self == Arch::Tna {
            return format!("{result} = access_of_{register}.execute({index});\n");
        }
        let code: String = code.replace('$', result).lines().map(|line| format!("    {line}\n")).collect();
        format!(
            "{{\n    bit<{bits}> cell;\n    {register}.read(cell, {index});\n{code}    {register}.write({index}, cell);\n}}\n"
        )
    }
}

/// The width of a cell of a stateful ALU that holds so many bits: 64 are two cells of 32.
fn container(bits: u32) -> u32 {
    if bits == 1 { 1 } else { bits.next_power_of_two().max(8) }
}
