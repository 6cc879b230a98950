// SPDX-License-Identifier: MIT OR Apache-2.0
//! The code of a function, as C: a statement for each instruction (*WebAssembly Core Specification*,
//! section 5.4).
//!
//! Each place of WebAssembly's stack of values is two variables of C, `sN` of 32 bits and `tN` of 64;
//! locals are `lN`. Labels are labels.
//!
//! The stack pointer is none of the module's any more. A function that takes a part of the stack
//! begins with `stack pointer - constant`, and what it gets is an array of C's, on the stack that C
//! has: so each thread has one stack, and what is stored as the stack pointer need not be stored.

use crate::module::{Global, Module, Type, Value};
use crate::reader::Reader;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Bytes of the alignment of the stack.
const STACK_ALIGNED: u32 = 16;

/// What a branch goes to.
struct Label {
    /// Its name in C is of this.
    number: usize,
    /// Values that were on the stack before it.
    height: usize,
    /// What the block leaves there.
    result: Option<Value>,
    /// Whether a branch goes to its begin.
    is_loop: bool,
    /// Whether the label of the part that begins with `else` has not come yet.
    is_open: bool,
}

/// A function that is translated.
struct Function<'m, 'a> {
    module: &'m Module<'a>,
    kind: &'m Type,
    out: String,
    locals: Vec<Value>,
    /// What is on the stack.
    stack: Vec<Value>,
    labels: Vec<Label>,
    /// How many labels there have been.
    numbers: usize,
    /// Variables that there are for what is on the stack.
    variables: BTreeSet<(usize, Value)>,
    /// How many blocks began after what never goes on; 0: it goes on.
    dead: Option<usize>,
    /// Bytes of its part of the stack.
    frame: Option<u32>,
}

/// Translates one: what is between its braces.
///
/// # Errors
/// If it has what is not translated.
pub fn translate<'a>(module: &Module<'a>, kind: &Type, body: &'a [u8]) -> Result<String> {
    let mut reader = Reader::new(body);
    let mut locals = kind.parameters.clone();
    for (count, value) in
        reader.list(|reader| Ok((reader.number()?, Value::of(reader.byte()?)?)))?
    {
        ensure!(count < 1 << 16, "{count} variables are too many");
        locals.extend((0..count).map(|_| value));
    }
    let end = Label { number: 0, height: 0, result: kind.result, is_loop: false, is_open: false };
    let mut function = Function {
        module,
        kind,
        out: String::new(),
        locals,
        stack: Vec::new(),
        labels: vec![end],
        numbers: 1,
        variables: BTreeSet::new(),
        dead: None,
        frame: None,
    };
    while !function.labels.is_empty() {
        function.instruction(&mut reader)?;
    }
    ensure!(reader.is_empty(), "a function goes on after its end");
    function.whole()
}

/// The name of the variable for a place of the stack.
fn place(depth: usize, value: Value) -> String {
    match value {
        Value::I32 => format!("s{depth}"),
        Value::I64 => format!("t{depth}"),
    }
}

impl<'a> Function<'_, 'a> {
    /// Its variables, its part of the stack, and its statements.
    fn whole(self) -> Result<String> {
        let mut all = String::new();
        for (index, value) in self.locals.iter().enumerate().skip(self.kind.parameters.len()) {
            writeln!(all, "    {} l{index} = 0;", value.c())?;
        }
        for (depth, value) in &self.variables {
            writeln!(all, "    {} {};", value.c(), place(*depth, *value))?;
        }
        if let Some(bytes) = self.frame {
            let bytes = bytes.next_multiple_of(STACK_ALIGNED);
            // The compiler does not know what comes of it, so it takes it for any address.
            writeln!(all, "    uint8_t frame[{bytes}] __attribute__((aligned({STACK_ALIGNED})));")?;
            writeln!(all, "    uint64_t sp;")?;
            writeln!(all, "    __asm__(\"\" : \"=r\"(sp) : \"0\"(frame + {bytes}) : \"memory\");")?;
        }
        Ok(all + &self.out)
    }

    fn say(&mut self, line: &str) {
        self.out.push_str("    ");
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// A place on top of the stack for a value, which becomes this.
    fn push(&mut self, value: Value, expression: &str) {
        let name = self.room(value);
        self.say(&format!("{name} = {expression};"));
    }

    fn room(&mut self, value: Value) -> String {
        let depth = self.stack.len();
        self.variables.insert((depth, value));
        self.stack.push(value);
        place(depth, value)
    }

    /// What was on top of the stack.
    fn pop(&mut self) -> Result<(String, Value)> {
        let bottom = self.labels.last().map_or(0, |label| label.height);
        ensure!(self.stack.len() > bottom, "a value is not on the stack");
        let value = self.stack.pop().context("a value is not on the stack")?;
        Ok((place(self.stack.len(), value), value))
    }

    fn pop_as(&mut self, wanted: Value) -> Result<String> {
        let (name, value) = self.pop()?;
        ensure!(value == wanted, "a value is a {value:?}, not a {wanted:?}");
        Ok(name)
    }

    /// A value of one other, in C with `a` for it.
    fn one(&mut self, from: Value, to: Value, expression: &str) -> Result<()> {
        let a = self.pop_as(from)?;
        self.push(to, &expression.replace('#', &a));
        Ok(())
    }

    /// A value of two others: `before`, the first, `between`, the second, `after`.
    fn two(&mut self, from: Value, to: Value, [before, between, after]: [&str; 3]) -> Result<()> {
        let b = self.pop_as(from)?;
        let a = self.pop_as(from)?;
        self.push(to, &format!("{before}{a}{between}{b}{after}"));
        Ok(())
    }

    fn local(&self, reader: &mut Reader) -> Result<(String, Value)> {
        let index = reader.number()?;
        let value = self.locals.get(index as usize).context("there is no such variable")?;
        Ok((format!("l{index}"), *value))
    }

    /// What a block leaves on the stack.
    fn block_result(reader: &mut Reader) -> Result<Option<Value>> {
        match reader.byte()? {
            0x40 => Ok(None),
            kind => Value::of(kind).map(Some),
        }
    }

    fn begin(&mut self, result: Option<Value>, is_loop: bool, is_open: bool) -> usize {
        let number = self.numbers;
        self.numbers += 1;
        self.labels.push(Label { number, height: self.stack.len(), result, is_loop, is_open });
        number
    }

    /// A branch to the label with so many inside of it.
    fn branch(&self, depth: u32) -> Result<String> {
        let index = self.labels.len().checked_sub(1 + depth as usize);
        let label = &self.labels[index.context("a branch leaves the function")?];
        let mut code = String::new();
        if let Some(value) = label.result.filter(|_| !label.is_loop) {
            let top = self.stack.len().checked_sub(1).context("a branch has no value")?;
            ensure!(self.stack[top] == value, "a branch has another value");
            if top != label.height {
                write!(code, "{} = {}; ", place(label.height, value), place(top, value))?;
            }
        }
        write!(code, "goto L{};", label.number)?;
        Ok(code)
    }

    /// What a branch writes has its variable.
    fn needs_result(&mut self, depth: u32) {
        let index = self.labels.len().checked_sub(1 + depth as usize);
        if let Some(label) = index.and_then(|index| self.labels.get(index))
            && let Some(value) = label.result.filter(|_| !label.is_loop)
        {
            self.variables.insert((label.height, value));
        }
    }

    /// It never goes on here.
    const fn ends(&mut self) {
        self.dead = Some(0);
    }

    fn end(&mut self) -> Result<()> {
        let label = self.labels.pop().context("there is no block to end")?;
        let goes_on = self.dead.take().is_none();
        if goes_on {
            let count = usize::from(label.result.is_some());
            ensure!(
                self.stack.len() == label.height + count
                    && self.stack.last().copied().filter(|_| count == 1) == label.result,
                "a block leaves other values than it says"
            );
        }
        self.stack.truncate(label.height);
        if label.is_open {
            ensure!(label.result.is_none(), "a block without `else` has a value");
            writeln!(self.out, "E{}:;", label.number)?;
        }
        if !label.is_loop {
            writeln!(self.out, "L{}:;", label.number)?;
        }
        if let Some(value) = label.result {
            self.room(value);
        }
        if self.labels.is_empty() {
            match self.kind.result {
                Some(value) => {
                    let name = place(0, value);
                    self.say(&format!("return {name};"));
                }
                None => self.say("return;"),
            }
        }
        Ok(())
    }

    fn otherwise(&mut self) -> Result<()> {
        let label = self.labels.last_mut().context("`else` without `if`")?;
        ensure!(std::mem::take(&mut label.is_open), "`else` without `if`");
        let (number, height) = (label.number, label.height);
        if self.dead.take().is_none() {
            self.say(&format!("goto L{number};"));
        }
        self.stack.truncate(height);
        writeln!(self.out, "E{number}:;")?;
        Ok(())
    }

    /// An address of an access, and how it is aligned at least, as a power of two.
    fn address(&mut self, reader: &mut Reader) -> Result<(String, u32)> {
        let (aligned, offset) = (reader.number()?, reader.number()?);
        let at = self.pop_as(Value::I32)?;
        ensure!(aligned < 4, "an access is aligned to more than eight bytes");
        Ok((format!("(uint64_t){at} + {offset}u"), aligned))
    }

    fn load(&mut self, reader: &mut Reader, to: Value, bits: u32, sign: &str) -> Result<()> {
        let (at, aligned) = self.address(reader)?;
        let unit = (1 << aligned).min(bits / 8);
        self.push(to, &format!("{sign}load{bits}_{unit}({at})"));
        Ok(())
    }

    fn store(&mut self, reader: &mut Reader, from: Value, bits: u32) -> Result<()> {
        let value = self.pop_as(from)?;
        let (at, aligned) = self.address(reader)?;
        let unit = (1 << aligned).min(bits / 8);
        self.say(&format!("store{bits}_{unit}({at}, {value});"));
        Ok(())
    }

    fn call(&mut self, kind: &Type, called: &str) -> Result<()> {
        let mut arguments = Vec::new();
        for value in kind.parameters.iter().rev() {
            arguments.insert(0, self.pop_as(*value)?);
        }
        let call = format!("{called}({})", arguments.join(", "));
        match kind.result {
            Some(value) => self.push(value, &call),
            None => self.say(&format!("{call};")),
        }
        Ok(())
    }

    /// The stack pointer, from which a constant is taken: the function's part of the stack.
    fn stack_pointer(&mut self, reader: Reader) -> Result<()> {
        let unknown = "it uses its stack in a way that is not known";
        let mut after = reader;
        let mut operation = after.byte()?;
        // It is kept as it is, too.
        if operation == 0x22 {
            after.number()?;
            operation = after.byte()?;
        } else if operation == 0x21 {
            let kept = after.number()?;
            ensure!(after.byte()? == 0x20 && after.number()? == kept, unknown);
            operation = after.byte()?;
        }
        ensure!(operation == 0x41, unknown);
        let bytes = u32::try_from(after.signed()?).context(unknown)?;
        ensure!(after.byte()? == 0x6b && bytes < 1 << 20, unknown);
        // A multiple of more than the stack's alignment: there is room to go down to it.
        let mut aligned = 0;
        if after.byte()? == 0x41 {
            let mask = after.signed()? as i32;
            if after.byte()? == 0x71 {
                aligned = mask.unsigned_abs();
                ensure!(mask < 0 && aligned.is_power_of_two() && aligned <= 4096, unknown);
            }
        }
        ensure!(self.frame.replace(bytes + aligned).is_none(), unknown);
        self.push(Value::I32, "(uint32_t)sp");
        Ok(())
    }

    fn instruction(&mut self, reader: &mut Reader<'a>) -> Result<()> {
        let operation = reader.byte()?;
        if let Some(depth) = self.dead {
            return self.skip(operation, depth, reader);
        }
        use Value::{I32, I64};
        match operation {
            0x00 => {
                self.say("__builtin_trap();");
                self.ends();
            }
            0x01 => {}
            0x02 => {
                let result = Self::block_result(reader)?;
                self.begin(result, false, false);
            }
            0x03 => {
                let result = Self::block_result(reader)?;
                let number = self.begin(result, true, false);
                writeln!(self.out, "L{number}:;")?;
            }
            0x04 => {
                let result = Self::block_result(reader)?;
                let condition = self.pop_as(I32)?;
                let number = self.begin(result, false, true);
                self.say(&format!("if (!{condition}) goto E{number};"));
            }
            0x05 => self.otherwise()?,
            0x0b => self.end()?,
            0x0c => {
                let depth = reader.number()?;
                self.needs_result(depth);
                let branch = self.branch(depth)?;
                self.say(&branch);
                self.ends();
            }
            0x0d => {
                let (depth, condition) = (reader.number()?, self.pop_as(I32)?);
                self.needs_result(depth);
                let branch = self.branch(depth)?;
                self.say(&format!("if ({condition}) {{ {branch} }}"));
            }
            0x0e => {
                let (depths, otherwise) = (reader.list(Reader::number)?, reader.number()?);
                let index = self.pop_as(I32)?;
                self.say(&format!("switch ({index}) {{"));
                for (number, depth) in depths.into_iter().enumerate() {
                    self.needs_result(depth);
                    let branch = self.branch(depth)?;
                    self.say(&format!("case {number}: {branch}"));
                }
                self.needs_result(otherwise);
                let branch = self.branch(otherwise)?;
                self.say(&format!("default: {branch}"));
                self.say("}");
                self.ends();
            }
            0x0f => {
                match self.kind.result {
                    Some(value) => {
                        let name = self.pop_as(value)?;
                        self.say(&format!("return {name};"));
                    }
                    None => self.say("return;"),
                }
                self.ends();
            }
            0x10 => {
                let index = reader.number()?;
                let kind = self.module.function(index)?.clone();
                self.call(&kind, &format!("f{index}"))?;
            }
            0x11 => {
                let kind = self.module.type_of(reader.number()?)?.clone();
                ensure!(reader.number()? == 0, "there is more than one table of functions");
                let index = self.pop_as(I32)?;
                let (number, count) = (self.module.first_of(&kind)?, self.module.table.len());
                self.say(&format!(
                    "if ({index} >= {count} || table[{index}].type != {number}) __builtin_trap();"
                ));
                let cast = kind.declared("(*)");
                self.call(&kind, &format!("(({cast})table[{index}].code)"))?;
            }
            0x1a => drop(self.pop()?),
            0x1b | 0x1c => {
                if operation == 0x1c {
                    reader.list(Reader::byte)?;
                }
                let condition = self.pop_as(I32)?;
                let (b, value) = self.pop()?;
                let a = self.pop_as(value)?;
                self.push(value, &format!("{condition} ? {a} : {b}"));
            }
            0x20 => {
                let (name, value) = self.local(reader)?;
                self.push(value, &name);
            }
            0x21 => {
                let (name, value) = self.local(reader)?;
                let from = self.pop_as(value)?;
                self.say(&format!("{name} = {from};"));
            }
            0x22 => {
                let (name, value) = self.local(reader)?;
                let from = self.pop_as(value)?;
                self.push(value, &from);
                self.say(&format!("{name} = {from};"));
            }
            0x23 => match self.global(reader)? {
                Global::Stack => self.stack_pointer(*reader)?,
                Global::Constant(number) => self.push(I32, &format!("{number}u")),
            },
            0x24 => {
                ensure!(self.global(reader)? == Global::Stack, "a constant is written");
                self.pop_as(I32)?;
            }
            0x28 => self.load(reader, I32, 32, "")?,
            0x29 => self.load(reader, I64, 64, "")?,
            0x2c => self.load(reader, I32, 8, "(int8_t)")?,
            0x2d => self.load(reader, I32, 8, "")?,
            0x2e => self.load(reader, I32, 16, "(int16_t)")?,
            0x2f => self.load(reader, I32, 16, "")?,
            0x30 => self.load(reader, I64, 8, "(int8_t)")?,
            0x31 => self.load(reader, I64, 8, "")?,
            0x32 => self.load(reader, I64, 16, "(int16_t)")?,
            0x33 => self.load(reader, I64, 16, "")?,
            0x34 => self.load(reader, I64, 32, "(int32_t)")?,
            0x35 => self.load(reader, I64, 32, "")?,
            0x36 => self.store(reader, I32, 32)?,
            0x37 => self.store(reader, I64, 64)?,
            0x3a => self.store(reader, I32, 8)?,
            0x3b => self.store(reader, I32, 16)?,
            0x3c => self.store(reader, I64, 8)?,
            0x3d => self.store(reader, I64, 16)?,
            0x3e => self.store(reader, I64, 32)?,
            0x41 => {
                let number = reader.signed()? as u32;
                self.push(I32, &format!("{number}u"));
            }
            0x42 => {
                let number = reader.signed()? as u64;
                self.push(I64, &format!("{number}ul"));
            }
            0x45 => self.one(I32, I32, "!#")?,
            0x46..=0x4f => self.comparison(I32, operation - 0x46)?,
            0x50 => self.one(I64, I32, "!#")?,
            0x51..=0x5a => self.comparison(I64, operation - 0x51)?,
            0x67..=0x78 => self.arithmetic(I32, operation - 0x67)?,
            0x79..=0x8a => self.arithmetic(I64, operation - 0x79)?,
            0xa7 => self.one(I64, I32, "(uint32_t)#")?,
            0xac => self.one(I32, I64, "(int64_t)(int32_t)#")?,
            0xad => self.one(I32, I64, "(uint64_t)#")?,
            0xc0 => self.one(I32, I32, "(int8_t)#")?,
            0xc1 => self.one(I32, I32, "(int16_t)#")?,
            0xc2 => self.one(I64, I64, "(int8_t)#")?,
            0xc3 => self.one(I64, I64, "(int16_t)#")?,
            0xc4 => self.one(I64, I64, "(int32_t)#")?,
            0xfc => self.memory(reader)?,
            0xfe => self.atomic(reader)?,
            0x2a
            | 0x2b
            | 0x38
            | 0x39
            | 0x43
            | 0x44
            | 0x5b..=0x66
            | 0x8b..=0xa6
            | 0xa8..=0xab
            | 0xae..=0xbf => bail!("there is floating point, which is not translated"),
            other => bail!("the instruction {other:#x} is not translated"),
        }
        Ok(())
    }

    fn global(&self, reader: &mut Reader) -> Result<Global> {
        let index = reader.number()?;
        self.module.globals.get(index as usize).copied().context("there is no such variable")
    }

    fn comparison(&mut self, from: Value, which: u8) -> Result<()> {
        let signed = if from == Value::I32 { "(int32_t)" } else { "(int64_t)" };
        let (sign, operator) = match which {
            0 => ("", "=="),
            1 => ("", "!="),
            2 => (signed, "<"),
            3 => ("", "<"),
            4 => (signed, ">"),
            5 => ("", ">"),
            6 => (signed, "<="),
            7 => ("", "<="),
            8 => (signed, ">="),
            _ => ("", ">="),
        };
        self.two(from, Value::I32, [sign, &format!(" {operator} {sign}"), ""])
    }

    fn arithmetic(&mut self, value: Value, which: u8) -> Result<()> {
        let (bits, signed) = match value {
            Value::I32 => (32, "int32_t"),
            Value::I64 => (64, "int64_t"),
        };
        let last = format!(" & {})", bits - 1);
        match which {
            0 => self.one(value, value, &format!("zeros_before{bits}(#)")),
            1 => self.one(value, value, &format!("zeros_after{bits}(#)")),
            2 => self.one(value, value, "ones64(#)"),
            3 => self.two(value, value, ["", " + ", ""]),
            4 => self.two(value, value, ["", " - ", ""]),
            5 => self.two(value, value, ["", " * ", ""]),
            6 => self.two(value, value, [&format!("divide{bits}("), ", ", ")"]),
            7 => self.two(value, value, ["", " / ", ""]),
            8 => self.two(value, value, [&format!("remainder{bits}("), ", ", ")"]),
            9 => self.two(value, value, ["", " % ", ""]),
            10 => self.two(value, value, ["", " & ", ""]),
            11 => self.two(value, value, ["", " | ", ""]),
            12 => self.two(value, value, ["", " ^ ", ""]),
            13 => self.two(value, value, ["", " << (", &last]),
            14 => self.two(value, value, [&format!("({signed})"), " >> (", &last]),
            15 => self.two(value, value, ["", " >> (", &last]),
            16 => self.two(value, value, [&format!("rotate{bits}("), ", ", ")"]),
            _ => self.two(value, value, [&format!("rotate{bits}("), ", -", ")"]),
        }
    }

    /// Instructions on much of the memory.
    fn memory(&mut self, reader: &mut Reader) -> Result<()> {
        let (what, places) = match reader.number()? {
            10 => ("copy", 2),
            11 => ("fill", 1),
            0..=7 => bail!("there is floating point, which is not translated"),
            other => bail!("the instruction {other} of memory is not translated"),
        };
        for _ in 0..places {
            ensure!(reader.byte()? == 0, "there is more than one memory");
        }
        let count = self.pop_as(Value::I32)?;
        let with = self.pop_as(Value::I32)?;
        let to = self.pop_as(Value::I32)?;
        self.say(&format!("{what}({to}, {with}, {count});"));
        Ok(())
    }

    /// Atomic instructions (*Threads* of WebAssembly's proposals). They are aligned.
    fn atomic(&mut self, reader: &mut Reader) -> Result<()> {
        use Value::{I32, I64};
        /// In the order of their numbers: what is on the stack, and how much of it is in memory.
        const KINDS: [(Value, u32); 7] =
            [(I32, 32), (I64, 64), (I32, 8), (I32, 16), (I64, 8), (I64, 16), (I64, 32)];
        let operation = reader.number()?;
        if operation == 3 {
            ensure!(reader.byte()? == 0, "a fence of an unknown kind");
            self.say("__atomic_thread_fence(__ATOMIC_SEQ_CST);");
            return Ok(());
        }
        let from_loads = operation.checked_sub(0x10);
        let number = from_loads.context("an atomic instruction is not translated")?;
        let (value, bits) = KINDS[(number % 7) as usize];
        match number / 7 {
            0 => {
                let (at, _) = self.address(reader)?;
                self.push(
                    value,
                    &format!("__atomic_load_n(&AT(uint{bits}_t, {at}), __ATOMIC_SEQ_CST)"),
                );
            }
            1 => {
                let written = self.pop_as(value)?;
                let (at, _) = self.address(reader)?;
                self.say(&format!(
                    "__atomic_store_n(&AT(uint{bits}_t, {at}), {written}, __ATOMIC_SEQ_CST);"
                ));
            }
            what @ 2..=7 => {
                let names = ["fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor"];
                let name = names.get(what as usize - 2).unwrap_or(&"exchange_n");
                let operand = self.pop_as(value)?;
                let (at, _) = self.address(reader)?;
                self.push(value, &format!("ATOMIC(uint{bits}_t, {name}, {at}, {operand})"));
            }
            8 => {
                let written = self.pop_as(value)?;
                let expected = self.pop_as(value)?;
                let (at, _) = self.address(reader)?;
                self.push(value, &format!("COMPARE(uint{bits}_t, {at}, {expected}, {written})"));
            }
            _ => bail!("an atomic instruction is not translated"),
        }
        Ok(())
    }

    /// An instruction that is never executed; so many blocks began since then.
    fn skip(&mut self, operation: u8, depth: usize, reader: &mut Reader) -> Result<()> {
        match operation {
            0x02..=0x04 => {
                Self::block_result(reader)?;
                self.dead = Some(depth + 1);
            }
            0x05 if depth == 0 => self.otherwise()?,
            0x0b if depth == 0 => self.end()?,
            0x0b => self.dead = Some(depth - 1),
            0x0c | 0x0d | 0x10 | 0x20..=0x24 | 0x41 | 0x42 => _ = reader.signed()?,
            0x43 => _ = reader.bytes(4)?,
            0x44 => _ = reader.bytes(8)?,
            0x0e => _ = (reader.list(Reader::number)?, reader.number()?),
            0x11 | 0x28..=0x3e => _ = (reader.number()?, reader.number()?),
            0x1c => _ = reader.list(Reader::byte)?,
            0xfc => {
                let places = match reader.number()? {
                    10 => 2,
                    11 => 1,
                    0..=7 => 0,
                    other => bail!("the instruction {other} of memory is not translated"),
                };
                reader.bytes(places)?;
            }
            0xfe if reader.number()? == 3 => _ = reader.byte()?,
            0xfe => _ = (reader.number()?, reader.number()?),
            0x00 | 0x01 | 0x05 | 0x0f | 0x1a | 0x1b | 0x45..=0xc4 => {}
            // What follows it is not known.
            other => bail!("the instruction {other:#x} is not translated"),
        }
        Ok(())
    }
}
