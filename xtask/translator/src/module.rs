// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a module has besides the code of its functions (*WebAssembly Core Specification*, section
//! 5.5). What the linker never writes for the project is refused.

use crate::reader::Reader;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;

/// A kind of value. There is no floating point: on Alpha users have no FPU, and the kernel uses none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Value {
    /// 32 bits.
    I32,
    /// 64 bits.
    I64,
}

impl Value {
    /// By its number.
    pub fn of(number: u8) -> Result<Self> {
        match number {
            0x7f => Ok(Self::I32),
            0x7e => Ok(Self::I64),
            0x7c | 0x7d => bail!("there is floating point, which is not translated"),
            other => bail!("values of the type {other:#x} are not translated"),
        }
    }

    /// Its type in C.
    pub const fn c(self) -> &'static str {
        match self {
            Self::I32 => "uint32_t",
            Self::I64 => "uint64_t",
        }
    }
}

/// The type of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Type {
    /// What it takes.
    pub parameters: Vec<Value>,
    /// What it returns.
    pub result: Option<Value>,
}

impl Type {
    fn read(reader: &mut Reader) -> Result<Self> {
        ensure!(reader.byte()? == 0x60, "a type is none of a function");
        let parameters = reader.list(|reader| Value::of(reader.byte()?))?;
        let results = reader.list(|reader| Value::of(reader.byte()?))?;
        ensure!(results.len() < 2, "a function returns several values");
        Ok(Self { parameters, result: results.first().copied() })
    }

    /// A declaration in C of what is called so, whose parameters are `l0` and so on.
    pub fn declared(&self, name: &str) -> String {
        let result = self.result.map_or("void", Value::c);
        let parameters = self.parameters.iter().enumerate();
        let all: Vec<_> =
            parameters.map(|(index, value)| format!("{} l{index}", value.c())).collect();
        let all = if all.is_empty() { "void".to_string() } else { all.join(", ") };
        format!("{result} {name}({all})")
    }
}

/// The stack pointer is the only variable that a module has besides its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Global {
    /// The stack pointer.
    Stack,
    /// A number.
    Constant(u32),
}

/// A module.
#[derive(Default)]
pub struct Module<'a> {
    /// Types of functions.
    pub types: Vec<Type>,
    /// Names of the first functions, which are elsewhere.
    pub imports: Vec<&'a str>,
    /// Of each function which type it has.
    pub functions: Vec<u32>,
    /// Of each function that is not elsewhere what it does.
    pub bodies: Vec<&'a [u8]>,
    /// Variables.
    pub globals: Vec<Global>,
    /// Functions that others call by a name.
    pub exports: BTreeMap<u32, &'a str>,
    /// Numbers that have a name.
    pub numbers: BTreeMap<&'a str, u32>,
    /// Functions that are called by their number here.
    pub table: Vec<Option<u32>>,
    /// What is in memory at first, and where.
    pub data: Vec<(u32, &'a [u8])>,
    /// What functions are called in the source.
    pub names: BTreeMap<u32, &'a str>,
    /// Sections that mean nothing to WebAssembly, by their name.
    pub custom: BTreeMap<&'a str, Vec<u8>>,
}

/// An address or number that is known.
fn constant(reader: &mut Reader) -> Result<u32> {
    ensure!(reader.byte()? == 0x41, "a number at the start is no constant");
    let number = reader.signed()?;
    ensure!(reader.byte()? == 0x0b, "a number at the start is more than a constant");
    Ok(number as u32)
}

/// How large memory or a table is.
fn limits(reader: &mut Reader) -> Result<u32> {
    let flags = reader.byte()?;
    let least = reader.number()?;
    if flags & 1 != 0 {
        reader.number()?;
    }
    Ok(least)
}

impl<'a> Module<'a> {
    /// Reads one.
    ///
    /// # Errors
    /// If it is damaged, or has what is not translated.
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        let (mut module, mut reader) = (Self::default(), Reader::new(bytes));
        ensure!(reader.bytes(8)? == b"\0asm\x01\0\0\0", "it is no WebAssembly");
        let mut exports = Vec::new();
        while !reader.is_empty() {
            let (id, bytes) = (reader.byte()?, reader.number()?);
            let mut section = Reader::new(reader.bytes(bytes)?);
            module
                .section(id, &mut section, &mut exports)
                .with_context(|| format!("section {id} of the module"))?;
        }
        for (name, kind, index) in exports {
            let global = || module.globals.get(index as usize);
            match (kind, global()) {
                (0, _) => _ = module.exports.insert(index, name),
                (3, Some(Global::Constant(number))) => _ = module.numbers.insert(name, *number),
                _ => {}
            }
        }
        ensure!(
            module.bodies.len() + module.imports.len() == module.functions.len(),
            "functions and their code differ in number"
        );
        Ok(module)
    }

    fn section(
        &mut self,
        id: u8,
        reader: &mut Reader<'a>,
        exports: &mut Vec<(&'a str, u8, u32)>,
    ) -> Result<()> {
        match id {
            0 => self.custom(reader)?,
            1 => self.types = reader.list(Type::read)?,
            2 => {
                for (name, kind) in reader.list(|reader| {
                    let (module, name, what) = (reader.name()?, reader.name()?, reader.byte()?);
                    ensure!(what == 0, "`{name}` of `{module}` is imported, and is no function");
                    Ok((name, reader.number()?))
                })? {
                    self.imports.push(name);
                    self.functions.push(kind);
                }
            }
            3 => self.functions.extend(reader.list(Reader::number)?),
            4 => {
                let tables = reader.list(|reader| {
                    reader.byte()?;
                    limits(reader)
                })?;
                ensure!(tables.len() < 2, "there are several tables of functions");
                self.table = vec![None; tables.first().map_or(0, |count| *count as usize)];
            }
            5 => ensure!(reader.list(limits)?.len() == 1, "there is more than one memory"),
            6 => {
                self.globals = reader.list(|reader| {
                    let kind = Value::of(reader.byte()?)?;
                    let is_variable = reader.byte()? == 1;
                    ensure!(kind == Value::I32, "a global variable has 64 bits");
                    let number = constant(reader)?;
                    Ok(if is_variable { Global::Stack } else { Global::Constant(number) })
                })?;
                let stacks = self.globals.iter().filter(|global| **global == Global::Stack);
                ensure!(stacks.count() < 2, "there is a variable besides the stack pointer");
            }
            7 => {
                *exports =
                    reader.list(|reader| Ok((reader.name()?, reader.byte()?, reader.number()?)))?;
            }
            9 => {
                for (first, functions) in reader.list(|reader| {
                    ensure!(reader.number()? == 0, "elements that are not put into the one table");
                    Ok((constant(reader)?, reader.list(Reader::number)?))
                })? {
                    for (place, function) in (first..).zip(functions) {
                        *self.table.get_mut(place as usize).context("an element has no place")? =
                            Some(function);
                    }
                }
            }
            10 => {
                self.bodies = reader.list(|reader| {
                    let bytes = reader.number()?;
                    reader.bytes(bytes)
                })?;
            }
            11 => {
                self.data = reader.list(|reader| {
                    ensure!(reader.number()? == 0, "data that is not there from the start");
                    let at = constant(reader)?;
                    let bytes = reader.number()?;
                    Ok((at, reader.bytes(bytes)?))
                })?;
            }
            // How many parts of data there are.
            12 => {}
            8 => bail!("a function is called at the start"),
            _ => bail!("it is not known"),
        }
        Ok(())
    }

    fn custom(&mut self, reader: &mut Reader<'a>) -> Result<()> {
        let name = reader.name()?;
        if name.starts_with(".debug") {
            return Ok(());
        }
        if name != "name" {
            self.custom.entry(name).or_default().extend(reader.rest());
            return Ok(());
        }
        while !reader.is_empty() {
            let (what, bytes) = (reader.byte()?, reader.number()?);
            let mut part = Reader::new(reader.bytes(bytes)?);
            // Of functions only.
            if what == 1 {
                let names = part.list(|reader| Ok((reader.number()?, reader.name()?)))?;
                self.names = names.into_iter().collect();
            }
        }
        Ok(())
    }

    /// The type with this number.
    pub fn type_of(&self, kind: u32) -> Result<&Type> {
        self.types.get(kind as usize).with_context(|| format!("there is no type {kind}"))
    }

    /// The type of a function.
    pub fn function(&self, index: u32) -> Result<&Type> {
        let kind = self.functions.get(index as usize);
        self.type_of(*kind.with_context(|| format!("there is no function {index}"))?)
    }

    /// The first of all types that are the same: functions are called by these.
    pub fn first_of(&self, kind: &Type) -> Result<usize> {
        self.types.iter().position(|other| other == kind).context("a type is not there")
    }
}
