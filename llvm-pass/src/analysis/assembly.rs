//! Inline assembly that is one atomic operation of x86, as programs contain it that are older than the builtins of compilers: `lock` with `xadd`, `cmpxchg`, an operation without a result, or `xchg`; behind `cmpxchg` a `sete`.
//!
//! What the text and the constraints do not say in full is not such an operation: it stays inline assembly.

use std::collections::HashSet;

/// What the instruction does to its operand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of LLVM's atomic operations")]
pub enum Operation {
    Exchange,
    Add,
    Sub,
    And,
    Or,
    Xor,
    CompareExchange,
}

/// Where an operand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Argument of the call.
    Argument(u32),
    /// Immediate operand.
    Constant(i64),
}

/// What a result of the call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// What the memory held before.
    Old,
    /// Whether a compare-and-swap has stored, as 1 or 0, in a register of which so many bits are set by that.
    Swapped(u32),
}

/// An operation of `bits` bits, or of as many as its operand has, on the memory that the argument `place` points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// What is done.
    pub operation: Operation,
    /// Width of the variable, if a suffix or the name of a register says it.
    pub bits: Option<u32>,
    /// Argument that points to the variable.
    pub place: u32,
    /// Other arguments that have to be the same pointer.
    pub same_place: Vec<u32>,
    /// What is added, stored or the like.
    pub operand: Input,
    /// What a compare-and-swap compares with.
    pub expected: Option<Input>,
    /// The results of the call, in their order.
    pub outputs: Vec<Output>,
}

#[derive(Debug, Default)]
struct Operand {
    is_output: bool,
    in_memory: bool,
    /// The output in whose register this input is.
    tied: Option<usize>,
    register: Option<String>,
    argument: Option<u32>,
    result: Option<usize>,
}

/// What a call of inline assembly with so many arguments does, by its text and its constraints, as LLVM writes them.
pub fn parse(text: &str, constraints: &str, arguments: u32) -> Option<Atomic> {
    let operands = operands(constraints)?;
    let statements = statements(text);
    let (first, later) = statements.split_first()?;
    let (mnemonic, rest) = first.split_once(char::is_whitespace)?;
    let (is_locked, mnemonic, rest) = match mnemonic {
        "lock" => {
            let (mnemonic, rest) = rest.trim().split_once(char::is_whitespace)?;
            (true, mnemonic, rest)
        }
        _ => (false, mnemonic, rest),
    };
    let places: Vec<&str> = rest.split(',').map(str::trim).collect();
    let (name, suffix) = name_and_bits(mnemonic)?;
    if !is_locked && name != "xchg" {
        return None;
    }
    let registers = places.iter().filter_map(|place| register(place)).map(|(_, bits)| bits);
    let widths: HashSet<u32> = registers.chain(suffix).collect();
    if widths.len() > 1 {
        return None;
    }
    let bits = widths.into_iter().next();
    let reader = Reader { operands: &operands };
    let (operation, memory, register) = match (name, &places[..]) {
        ("inc", [memory]) => (Operation::Add, *memory, None),
        ("dec", [memory]) => (Operation::Sub, *memory, None),
        ("xchg", [a, b]) if reader.memory(a).is_some() => (Operation::Exchange, *a, Some(*b)),
        (_, [register, memory]) => (operation(name)?, *memory, Some(*register)),
        _ => return None,
    };
    let place = reader.memory(memory)?;
    let mut outputs: Vec<Option<Output>> = vec![None; operands.iter().filter(|o| o.result.is_some()).count()];
    let mut expected = None;
    let operand = match register {
        None => Input::Constant(1),
        Some(register) if matches!(name, "xadd" | "xchg") => {
            let output = reader.output(register)?;
            outputs[operands[output].result?] = Some(Output::Old);
            reader.input_of(output)?
        }
        Some(register) => reader.input(register)?,
    };
    if operation == Operation::CompareExchange {
        expected = Some(reader.accumulator()?);
        if let Some(output) = reader.output("%eax") {
            outputs[operands[output].result?] = Some(Output::Old);
        }
        if let Some((output, bits)) = reader.tested(later)? {
            outputs[operands[output].result?] = Some(Output::Swapped(bits));
        }
    } else if !later.is_empty() {
        return None;
    }
    let outputs = outputs.into_iter().collect::<Option<Vec<Output>>>()?;
    let in_memory: Vec<u32> = operands.iter().filter(|o| o.in_memory).filter_map(|o| o.argument).collect();
    let same_place: Vec<u32> = in_memory.into_iter().filter(|argument| *argument != place).collect();
    let inputs = [Some(operand), expected].into_iter().flatten().filter_map(|input| match input {
        Input::Argument(argument) => Some(argument),
        Input::Constant(_) => None,
    });
    let used: HashSet<u32> = inputs.chain(same_place.iter().copied()).chain([place]).collect();
    let is_complete = used.len() == arguments as usize;
    is_complete.then_some(Atomic { operation, bits, place, same_place, operand, expected, outputs })
}

struct Reader<'a> {
    operands: &'a [Operand],
}

impl Reader<'_> {
    /// The number of an operand that is written as such.
    fn number(&self, text: &str) -> Option<usize> {
        text.strip_prefix('$')?.parse().ok().filter(|number| *number < self.operands.len())
    }

    /// Argument that points to an operand in memory.
    fn memory(&self, text: &str) -> Option<u32> {
        let operand = &self.operands[self.number(text)?];
        operand.argument.filter(|_| operand.in_memory)
    }

    /// The output in whose register a written operand is.
    fn output(&self, text: &str) -> Option<usize> {
        let register = match self.number(text) {
            Some(number) if self.operands[number].in_memory => return None,
            Some(number) if self.operands[number].is_output => return Some(number),
            Some(number) if self.operands[number].tied.is_some() => return self.operands[number].tied,
            Some(number) => self.operands[number].register.as_deref()?,
            None => register(text)?.0,
        };
        self.operands.iter().position(|o| o.is_output && o.register.as_deref() == Some(register))
    }

    /// What is in the register of an output before.
    fn input_of(&self, output: usize) -> Option<Input> {
        let register = self.operands[output].register.as_deref();
        let is_tied = |o: &&Operand| {
            !o.is_output
                && (o.tied == Some(output) || register.is_some() && o.register.as_deref() == register)
        };
        self.operands.iter().find(is_tied)?.argument.map(Input::Argument)
    }

    /// An operand that is only read.
    fn input(&self, text: &str) -> Option<Input> {
        if let Some(constant) = text.strip_prefix("$$") {
            // Assemblers read what begins with 0 as an octal number.
            let digits = constant.trim_start_matches('-');
            let is_octal = digits.len() > 1 && digits.starts_with('0');
            return constant.parse().ok().filter(|_| !is_octal).map(Input::Constant);
        }
        let operand = match self.number(text) {
            Some(number) => &self.operands[number],
            None => {
                let (register, _) = register(text)?;
                self.operands.iter().find(|o| !o.is_output && o.register.as_deref() == Some(register))?
            }
        };
        operand.argument.filter(|_| !operand.in_memory && !operand.is_output).map(Input::Argument)
    }

    /// What a compare-and-swap compares with.
    fn accumulator(&self) -> Option<Input> {
        match self.output("%eax") {
            Some(output) => self.input_of(output),
            None => self.input("%eax"),
        }
    }

    /// The output that statements behind a compare-and-swap set to whether it has swapped, and how many of its bits; `None`: these are others.
    fn tested(&self, statements: &[String]) -> Option<Option<(usize, u32)>> {
        let parts: Vec<(&str, &str)> =
            statements.iter().map(|s| s.split_once(char::is_whitespace)).collect::<Option<_>>()?;
        match parts[..] {
            [] => Some(None),
            [("sete" | "setz", to)] => Some(Some((self.output(to.trim())?, 8))),
            [("sete" | "setz", to), ("movzbl", widened)] => {
                let (from, wide) = widened.split_once(',')?;
                let at = self.output(wide.trim())?;
                let is_apart = self.output(to.trim()).is_some_and(|narrow| narrow != at);
                // The upper half of the register is cleared as well.
                (from.trim() == to.trim() && !is_apart).then_some(Some((at, 64)))
            }
            _ => None,
        }
    }
}

fn operation(name: &str) -> Option<Operation> {
    Some(match name {
        "xadd" | "add" => Operation::Add,
        "sub" => Operation::Sub,
        "and" => Operation::And,
        "or" => Operation::Or,
        "xor" => Operation::Xor,
        "xchg" => Operation::Exchange,
        "cmpxchg" => Operation::CompareExchange,
        _ => return None,
    })
}

/// The instruction, and how many bits its suffix says.
fn name_and_bits(mnemonic: &str) -> Option<(&str, Option<u32>)> {
    const NAMES: [&str; 10] = ["xadd", "add", "sub", "and", "or", "xor", "inc", "dec", "xchg", "cmpxchg"];
    NAMES.into_iter().find_map(|name| {
        let bits = match mnemonic.strip_prefix(name)? {
            "" => None,
            "b" => Some(8),
            "w" => Some(16),
            "l" => Some(32),
            "q" => Some(64),
            _ => return None,
        };
        Some((name, bits))
    })
}

/// The register, by the name that constraints have for it, and how many bits of it are named.
fn register(text: &str) -> Option<(&'static str, u32)> {
    let name = text.strip_prefix('%')?;
    ["ax", "bx", "cx", "dx"].into_iter().find_map(|register| {
        let bits = match name {
            _ if name == register => 16,
            _ if name.strip_suffix('l') == register.strip_suffix('x') => 8,
            _ if name.strip_prefix('e') == Some(register) => 32,
            _ if name.strip_prefix('r') == Some(register) => 64,
            _ => return None,
        };
        Some((register, bits))
    })
}

/// The statements of a text, a `lock` with the one behind it, without local labels.
fn statements(text: &str) -> Vec<String> {
    let mut statements: Vec<String> = Vec::new();
    let is_label = |part: &str| part.strip_suffix(':').is_some_and(|label| label.parse::<u32>().is_ok());
    for part in text.split([';', '\n']).map(str::trim) {
        match statements.last_mut() {
            _ if part.is_empty() || is_label(part) => {}
            Some(last) if last == "lock" => *last = format!("lock {part}"),
            _ => statements.push(part.to_owned()),
        }
    }
    statements
}

/// The operands of constraints; `None` if these have anything that is not understood.
fn operands(constraints: &str) -> Option<Vec<Operand>> {
    let mut operands = Vec::new();
    let (mut arguments, mut results) = (0, 0);
    for constraint in constraints.split(',').filter(|c| !c.starts_with('~') && !c.is_empty()) {
        let is_output = constraint.starts_with('=');
        let rest = constraint.trim_start_matches(['=', '&']);
        let in_memory = rest.starts_with('*');
        let kind = rest.trim_start_matches('*');
        let may_be_memory = kind.contains(['m', 'o', 'V']) && !kind.starts_with('{');
        if kind.starts_with(['@', '!', '%']) || kind.starts_with("{@") || in_memory && !may_be_memory {
            return None;
        }
        let mut operand = Operand { is_output, in_memory, ..Operand::default() };
        if let Some(register) = kind.strip_prefix('{').and_then(|kind| kind.strip_suffix('}')) {
            operand.register = Some(register.trim_start_matches(['e', 'r']).to_owned());
        }
        operand.tied = kind.parse().ok();
        if is_output && !in_memory {
            operand.result = Some(results);
            results += 1;
        } else {
            operand.argument = Some(arguments);
            arguments += 1;
        }
        operands.push(operand);
    }
    Some(operands)
}
