//! What users state of functions that dsm-cc did not compile: lines of files (`-fdsm-effects`) and annotations of declarations (`DSM_EFFECTS` of
//! `dsm.h`).
//!
//! A line of a file is `FUNCTION: EFFECT, EFFECT...`, by the name that the linker sees; `#` begins a comment. An annotation is
//! `dsm:EFFECT, EFFECT...`. Effects:
//!
//! ```text
//! reads(argI, LENGTH)    the memory at argument I, counted from 0
//! writes(argI, LENGTH)
//! keeps(argI)            the function keeps the address beyond the call
//! calls                  it calls functions of the program, which may synchronise
//! harmless               it touches no memory of the program
//! LENGTH: bytes, or a product of at most two arguments and numbers (arg1*8), or `string`: up to the terminating NUL
//! ```

use std::cell::RefCell;
use std::collections::HashMap;

use crate::llvm::{Module, Value};

use super::{Effect, Format, Function, R, Rule, W};

/// What begins the text of an annotation.
const ANNOTATION: &str = "dsm:";

/// What is stated of one function.
#[derive(Clone, Default, Debug)]
struct Stated {
    effects: Vec<Effect>,
    calls: bool,
    keeps: Option<u32>,
}

thread_local! {
    /// Of the module that the thread compiles.
    static STATED: RefCell<HashMap<String, &'static Stated>> = RefCell::default();
}

/// A statement that makes no sense.
#[derive(thiserror::Error, PartialEq, Eq, Debug)]
#[error("{place}: {problem}")]
pub struct StatementError {
    place: String,
    problem: String,
}

/// Reads the files and the module's annotations; [`function`] knows them from now on.
///
/// # Errors
/// The first statement that makes no sense, with its place.
pub fn read(module: Module, files: &[String]) -> Result<(), StatementError> {
    let mut all = HashMap::new();
    for path in files {
        let text = std::fs::read_to_string(path).map_err(|error| StatementError {
            place: path.clone(),
            problem: format!(
                "cannot read the effects of functions: {error}; correct the path behind -fdsm-effects="
            ),
        })?;
        read_file(path, &text, &mut all)?;
    }
    for (function, text, place) in annotations(module) {
        let stated = effects(&text).map_err(|problem| StatementError { place, problem })?;
        all.insert(function, stated);
    }
    // A compilation reads them once, and its tables refer to effects that live as long as the program.
    let all = all.into_iter().map(|(name, stated)| (name, &*Box::leak(Box::new(stated)))).collect();
    STATED.with(|map| map.replace(all));
    Ok(())
}

/// What is stated of the function.
pub fn function(name: &str) -> Option<Function> {
    let stated = STATED.with_borrow(|map| map.get(name).copied())?;
    Some(Function {
        effects: &stated.effects,
        format: Format::None,
        calls_back: stated.calls,
        syncs: stated.calls,
        keeps: stated.keeps,
        fills: false,
        stated: true,
    })
}

fn read_file(path: &str, text: &str, all: &mut HashMap<String, Stated>) -> Result<(), StatementError> {
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let error = |problem| StatementError { place: format!("{path}:{}", number + 1), problem };
        let Some((name, list)) = line.split_once(':').map(|(name, list)| (name.trim(), list)) else {
            return Err(error(format!("`{line}` is not of the form `FUNCTION: EFFECT, EFFECT...`")));
        };
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(error(format!("`{name}` is not the name of a function")));
        }
        let stated = effects(list).map_err(error)?;
        if all.insert(name.to_owned(), stated).is_some() {
            return Err(error(format!(
                "the effects of `{name}` are stated twice; leave one of the lines out"
            )));
        }
    }
    Ok(())
}

/// Annotated functions: name, text without the prefix, place.
fn annotations(module: Module) -> Vec<(String, String, String)> {
    let Some(list) = module.global("llvm.global.annotations").and_then(Value::initializer) else {
        return vec![];
    };
    let string =
        |value: Value| value.is_global_variable().then(|| value.initializer()?.const_string()).flatten();
    let entry = |entry: Value| {
        let text = string(entry.operand(1))?;
        let function = entry.operand(0);
        let file = string(entry.operand(2)).unwrap_or_default();
        let place = format!("{file}:{}", entry.operand(3).int().unwrap_or(0));
        function.is_function().then_some(())?;
        Some((function.name(), text.strip_prefix(ANNOTATION)?.to_owned(), place))
    };
    list.operands().filter(|e| e.operand_count() >= 4).filter_map(entry).collect()
}

const EFFECTS: &str = "reads(argI, LENGTH), writes(argI, LENGTH), keeps(argI), calls, harmless";
const LENGTHS: &str = "a number of bytes, a product such as arg1*8 or arg1*arg2*8, or `string`";

fn effects(list: &str) -> Result<Stated, String> {
    let mut out = Stated::default();
    let items = split(list);
    let harmless = items.contains(&"harmless");
    if items.len() != 1 && harmless {
        return Err("`harmless` stands alone; leave out the other effects, or it".to_owned());
    }
    for item in items {
        let unknown = || format!("`{item}` is no effect; there are {EFFECTS}");
        match item {
            "harmless" => continue,
            "calls" => {
                out.calls = true;
                continue;
            }
            _ => {}
        }
        let (verb, inside) = item.strip_suffix(')').and_then(|i| i.split_once('(')).ok_or_else(unknown)?;
        let (place, length) = match inside.split_once(',') {
            Some((place, length)) => (place, Some(length.trim())),
            None => (inside, None),
        };
        let argument = argument(place.trim())
            .ok_or_else(|| format!("`{}` is no argument: they are arg0, arg1 and so on", place.trim()))?;
        match (verb.trim(), length) {
            ("reads", Some(text)) => out.effects.push((R, argument, length_of(text)?)),
            ("writes", Some("string")) => {
                // What is written replaces a string that is there, and is not longer.
                out.effects.push((R, argument, Rule::S));
                out.effects.push((W, argument, Rule::L(argument)));
            }
            ("writes", Some(text)) => out.effects.push((W, argument, length_of(text)?)),
            ("keeps", None) if out.keeps.is_none() => out.keeps = Some(argument),
            ("keeps", None) => return Err("only one argument can be kept".to_owned()),
            ("reads" | "writes", None) => {
                return Err(format!("`{item}` lacks the length behind a comma: {LENGTHS}"));
            }
            _ => return Err(unknown()),
        }
    }
    Ok(out)
}

/// Splits at the commas that are not inside of parentheses.
fn split(list: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let pieces = list.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    pieces.map(str::trim).collect()
}

fn argument(text: &str) -> Option<u32> {
    text.strip_prefix("arg")?.parse().ok().filter(|i| *i < 256)
}

fn length_of(text: &str) -> Result<Rule, String> {
    if text == "string" {
        return Ok(Rule::S);
    }
    let wrong = || format!("`{text}` is no length: {LENGTHS}");
    let (mut scale, mut arguments) = (1u64, vec![]);
    for factor in text.split('*').map(str::trim) {
        match argument(factor) {
            Some(index) => arguments.push(index),
            None => {
                let number: u64 = factor.parse().map_err(|_| wrong())?;
                scale = scale.checked_mul(number).filter(|n| *n < 1 << 47).ok_or_else(wrong)?;
            }
        }
    }
    Ok(match arguments[..] {
        [] => Rule::N(scale),
        [x] if scale == 1 => Rule::A(x),
        [x] => Rule::M(x, scale),
        [x, y] if scale == 1 => Rule::P(x, y),
        [x, y] => Rule::Volume(x, y, scale),
        _ => return Err(wrong()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(list: &str) -> String {
        match effects(list) {
            Ok(stated) => format!("{:?} {} {:?}", stated.effects, stated.calls, stated.keeps),
            Err(problem) => problem,
        }
    }

    #[test]
    fn effects_become_rules() {
        assert_eq!(shown("harmless"), "[] false None");
        assert_eq!(
            shown(" reads(arg0, arg1*8), writes( arg2,24 ),calls, keeps(arg3)"),
            "[(Load, 0, M(1, 8)), (Store, 2, N(24))] true Some(3)"
        );
        assert_eq!(
            shown(
                "reads(arg0,string),writes(arg1,arg2*arg3*8),writes(arg1, arg2 * 4 * arg3),reads(arg4,arg5)"
            ),
            "[(Load, 0, S), (Store, 1, Volume(2, 3, 8)), (Store, 1, Volume(2, 3, 4)), (Load, 4, A(5))] false None"
        );
        assert_eq!(shown("writes(arg1, string)"), "[(Load, 1, S), (Store, 1, L(1))] false None");
    }

    #[test]
    fn nonsense_is_named() {
        for (list, part) in [
            ("", "`` is no effect"),
            ("read(arg0, 8)", "`read(arg0, 8)` is no effect; there are reads"),
            ("reads(0, 8)", "`0` is no argument"),
            ("reads(arg0)", "lacks the length"),
            ("reads(arg0, arg1*x)", "`arg1*x` is no length"),
            ("reads(arg0, arg1*arg2*arg3)", "is no length"),
            ("reads(arg0, 8), harmless", "stands alone"),
            ("reads(arg0, 99999999999999999999)", "is no length"),
            ("keeps(arg0, 8)", "is no effect"),
            ("keeps(arg0), keeps(arg1)", "only one argument"),
        ] {
            let shown = shown(list);
            assert!(shown.contains(part), "{list}: {shown}");
        }
    }

    #[test]
    fn errors_have_their_line() {
        let mut all = HashMap::new();
        let text = "# a library\n\nf: harmless # none\n  g : reads(arg0, 8)\n";
        read_file("x", text, &mut all).unwrap();
        assert_eq!(all.len(), 2);
        let error = |text: &str| read_file("x", text, &mut HashMap::new()).unwrap_err().to_string();
        assert!(error("\n\nf harmless").starts_with("x:3: `f harmless` is not of the form"));
        assert!(error("f: harmless\nf: calls").starts_with("x:2: the effects of `f` are stated twice"));
        assert!(error("a b: calls").starts_with("x:1: `a b` is not the name"));
        assert!(error("f: reads(arg0, 8").starts_with("x:1: `reads(arg0, 8` is no effect"));
    }
}
