//! `DSM_PASS_OPTIONS`: what the driver tells the plugin.

use crate::fault::Fault;
use dsm_abi::note::Checking;
pub use dsm_abi::options::{SWITCHES, VARIABLE, WeakestOrder};
use dsm_abi::state::{DEFAULT_LINE_SHIFT, MAX_LINE_SHIFT, MIN_LINE_SHIFT};

/// Settings of one compilation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Base-two logarithm of the line size.
    pub line_shift: u32,
    /// Where the plan is printed: a path, or `-` for standard error.
    pub plan: Option<String>,
    /// How accesses are checked.
    pub checking: Checking,
    /// The weakest order that atomic and volatile accesses have.
    pub weakest_order: WeakestOrder,
    /// Print the counters.
    pub stats: bool,
    /// Emit a remark for every call that may touch shared memory unseen.
    pub remarks: bool,
    /// Count executed accesses and checks.
    pub count: bool,
    /// Assert at run time that each access is allowed.
    pub verify: bool,
    /// A seeded fault, and where.
    pub fault: Option<(Fault, u32)>,
    /// The program is compiled for integers that wrap.
    pub wrapv: bool,
    /// The compiler wants places in the sources after the pass as well.
    pub places: bool,
    /// Files that state the effects of functions.
    pub effects: Vec<String>,
    /// Optimisations switched off.
    pub disabled: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            line_shift: DEFAULT_LINE_SHIFT,
            plan: None,
            checking: Checking::Inline,
            weakest_order: WeakestOrder::Relaxed,
            stats: false,
            remarks: false,
            count: false,
            verify: false,
            fault: None,
            wrapv: false,
            places: true,
            effects: vec![],
            disabled: vec![],
        }
    }
}

/// Why the options make no sense.
#[derive(thiserror::Error, PartialEq, Eq, Debug)]
pub enum OptionError {
    /// Not a known key.
    #[error("{VARIABLE}: unknown option `{0}`")]
    Unknown(String),
    /// Not a known optimisation.
    #[error("{VARIABLE}: `disable` knows {known}; not `{0}`", known = SWITCHES.join(", "))]
    UnknownSwitch(String),
    /// Not a known fault.
    #[error("{VARIABLE}: `fault` knows {known}; not `{0}`", known = Fault::ALL.iter().map(|f| f.name()).collect::<Vec<_>>().join(", "))]
    UnknownFault(String),
    /// A value that does not fit its key.
    #[error("{VARIABLE}: `{0}` is not a value of `{1}`")]
    Value(String, &'static str),
}

impl Options {
    /// Reads `key=value;key=value`.
    pub fn parse(text: &str) -> Result<Options, OptionError> {
        let mut out = Options::default();
        for part in text.split(';').map(str::trim).filter(|p| !p.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, "1"));
            match key {
                "line" => {
                    let shift = value.parse().ok().filter(|s| (MIN_LINE_SHIFT..=MAX_LINE_SHIFT).contains(s));
                    out.line_shift = shift.ok_or_else(|| OptionError::Value(value.to_owned(), "line"))?;
                }
                "plan" => out.plan = Some(value.to_owned()),
                "check" => {
                    let checking = Checking::parse(value);
                    out.checking = checking.ok_or_else(|| OptionError::Value(value.to_owned(), "check"))?;
                }
                "weakest-order" => {
                    let order = WeakestOrder::parse(value);
                    out.weakest_order =
                        order.ok_or_else(|| OptionError::Value(value.to_owned(), "weakest-order"))?;
                }
                "stats" => out.stats = flag(value, "stats")?,
                "remarks" => out.remarks = flag(value, "remarks")?,
                "count" => out.count = flag(value, "count")?,
                "verify" => out.verify = flag(value, "verify")?,
                "fault" => {
                    let fault = Fault::parse(value);
                    out.fault = Some(fault.ok_or_else(|| OptionError::UnknownFault(value.to_owned()))?);
                }
                "wrapv" => out.wrapv = flag(value, "wrapv")?,
                "places" => out.places = flag(value, "places")?,
                "effects" => out.effects.push(value.to_owned()),
                "disable" => {
                    for name in value.split(',').filter(|n| !n.is_empty()) {
                        if !SWITCHES.contains(&name) {
                            return Err(OptionError::UnknownSwitch(name.to_owned()));
                        }
                        out.disabled.push(name.to_owned());
                    }
                }
                _ => return Err(OptionError::Unknown(key.to_owned())),
            }
        }
        Ok(out)
    }

    /// From the environment.
    pub fn from_env() -> Result<Options, OptionError> {
        match std::env::var(VARIABLE) {
            Ok(text) => Options::parse(&text),
            Err(_) => Ok(Options::default()),
        }
    }

    /// True unless the optimisation is switched off. Where no check is inserted there is nothing to optimise.
    pub fn enabled(&self, name: &str) -> bool {
        let useless = self.checking == Checking::Mprotect
            && !matches!(
                name,
                "private"
                    | "flags"
                    | "overwrite"
                    | "flush"
                    | "barrier"
                    | "chunks"
                    | "copyprivate"
                    | "statics"
                    | "cas"
            );
        !useless && !self.disabled.iter().any(|d| d == name)
    }

    /// What was asked for beyond the line size and makes other code, as the driver spells it.
    pub fn unusual(&self) -> String {
        let order = (self.weakest_order != WeakestOrder::default())
            .then(|| format!("-fdsm-weakest-order={}", self.weakest_order.name()));
        let count = self.count.then(|| "-fdsm-count".to_owned());
        let verify = self.verify.then(|| "-fdsm-verify".to_owned());
        let fault = self.fault.map(|(fault, place)| format!("-fdsm-fault={}:{place}", fault.name()));
        let disabled =
            (!self.disabled.is_empty()).then(|| format!("-fdsm-disable={}", self.disabled.join(",")));
        order
            .into_iter()
            .chain(count)
            .chain(verify)
            .chain(fault)
            .chain(disabled)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Bytes of a line.
    pub fn line_bytes(&self) -> u64 {
        1 << self.line_shift
    }
}

fn flag(value: &str, key: &'static str) -> Result<bool, OptionError> {
    match value {
        "1" => Ok(true),
        "0" => Ok(false),
        _ => Err(OptionError::Value(value.to_owned(), key)),
    }
}
