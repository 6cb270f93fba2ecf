//! Parses `--map-by`, `--rank-by` and `--bind-to`. Words may be in any case, and shortened as long as they stay unique.
//! The command line and PMIx spawn requests use it. The caller reads files that a directive names.

mod error;
mod join;
mod map;
#[cfg(test)]
mod tests;
mod words;

use ferrite_types::{BindTo, CpuKind, MapBy, MapRequest, ObjectKind, RankBy};

pub use error::{DirectiveError, Problem};
pub use join::join;
use words::{Entry, Given, Words};

/// `--map-by`, parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapDirective {
    /// The policy; `None` when only qualifiers are given (`--map-by :OVERSUBSCRIBE`). `Seq` and `RankFile` are without
    /// lines: they are in `file`.
    pub by: Option<MapBy>,
    /// `FILE=path`, as written: the lines of `Seq` or `RankFile`. Always there for a rankfile.
    pub file: Option<String>,
    /// `PE=n`.
    pub pes: Option<u16>,
    /// `SPAN`.
    pub span: bool,
    /// `OVERSUBSCRIBE` or `NOOVERSUBSCRIBE`.
    pub oversubscribe: Option<bool>,
    /// `NOLOCAL`.
    pub nolocal: bool,
    /// `HWTCPUS` or `CORECPUS`.
    pub cpus: Option<CpuKind>,
    /// `INHERIT` or `NOINHERIT`.
    pub inherit: Option<bool>,
    /// `DISPLAY`: the job map is shown, as by `--display map`.
    pub display: bool,
}

/// `--bind-to`, parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BindDirective {
    /// The policy; `None` when only qualifiers are given (`--bind-to :report`).
    pub to: Option<BindTo>,
    /// `overload-allowed` or `no-overload`.
    pub overload: Option<bool>,
    /// `if-supported`.
    pub if_supported: bool,
    /// `limit=n`.
    pub limit: Option<u16>,
    /// `report`: the job's bindings are displayed.
    pub report: bool,
}

impl MapDirective {
    /// Writes the directive into a request; other fields stay.
    pub fn apply(&self, request: &mut MapRequest) {
        request.by = self.by.clone().or(request.by.take());
        request.pes = self.pes.or(request.pes);
        request.span |= self.span;
        request.oversubscribe = self.oversubscribe.or(request.oversubscribe);
        request.nolocal |= self.nolocal;
        request.cpus = self.cpus.or(request.cpus);
        request.inherit = self.inherit.or(request.inherit);
    }

    /// Fills in what a request leaves open. A default applies to the jobs that can have it, so parts that do not fit
    /// the request's own policy are skipped.
    pub fn fill(&self, request: &mut MapRequest) {
        let own = request.by.is_some();
        request.by = request.by.take().or_else(|| self.by.clone());
        let by = request.by.as_ref();
        request.pes = request.pes.or(self.pes.filter(|_| by.is_none_or(map::has_pes)));
        request.span |= self.span && (!own || by.is_none_or(map::has_span));
        request.oversubscribe = request.oversubscribe.or(self.oversubscribe);
        request.nolocal |= self.nolocal;
        request.cpus = request.cpus.or(self.cpus);
        request.inherit = request.inherit.or(self.inherit);
    }
}

impl BindDirective {
    /// Writes the directive into a request; other fields stay.
    pub fn apply(&self, request: &mut MapRequest) {
        request.bind_to = self.to.or(request.bind_to);
        request.overload = self.overload.or(request.overload);
        request.bind_if_supported |= self.if_supported;
        request.bind_limit = self.limit.or(request.bind_limit);
    }

    /// Fills in what a request leaves open.
    pub fn fill(&self, request: &mut MapRequest) {
        request.bind_to = request.bind_to.or(self.to);
        request.overload = request.overload.or(self.overload);
        request.bind_if_supported |= self.if_supported;
        request.bind_limit = request.bind_limit.or(self.limit.filter(|_| request.bind_to != Some(BindTo::None)));
    }
}

const RANKERS: &[Entry<RankBy>] =
    &[("slot", RankBy::Slot), ("node", RankBy::Node), ("fill", RankBy::Fill), ("span", RankBy::Span)];

const BINDERS: &[Entry<BindTo>] = &[
    ("none", BindTo::None),
    ("hwthread", BindTo::Object(ObjectKind::HwThread)),
    ("core", BindTo::Object(ObjectKind::Core)),
    ("l1cache", BindTo::Object(ObjectKind::L1Cache)),
    ("l2cache", BindTo::Object(ObjectKind::L2Cache)),
    ("l3cache", BindTo::Object(ObjectKind::L3Cache)),
    ("numa", BindTo::Object(ObjectKind::Numa)),
    ("package", BindTo::Object(ObjectKind::Package)),
];

#[derive(Clone, Copy)]
enum BindQualifier {
    Overload(bool),
    IfSupported,
    Limit,
    Report,
}

const BIND_QUALIFIERS: &[Entry<BindQualifier>] = &[
    ("overload-allowed", BindQualifier::Overload(true)),
    ("no-overload", BindQualifier::Overload(false)),
    ("if-supported", BindQualifier::IfSupported),
    ("limit=n", BindQualifier::Limit),
    ("report", BindQualifier::Report),
];

/// Parses the value of `--map-by`.
///
/// # Errors
/// The error, with the valid words.
pub fn parse_map_by(text: &str) -> Result<MapDirective, DirectiveError> {
    map::parse(text)
}

/// Parses the value of `--rank-by`.
///
/// # Errors
/// The error, with the valid words.
pub fn parse_rank_by(text: &str) -> Result<RankBy, DirectiveError> {
    let this = Given { option: "--rank-by", text };
    this.find("directive", text, RANKERS).map(|found| found.means)
}

/// Parses the value of `--bind-to`.
///
/// # Errors
/// The error, with the valid words.
pub fn parse_bind_to(text: &str) -> Result<BindDirective, DirectiveError> {
    let this = Given { option: "--bind-to", text };
    let mut words = Words::of(text);
    let mut directive = BindDirective::default();
    let first = words.next().unwrap_or_default();
    if !first.is_empty() || text.is_empty() {
        directive.to = Some(this.policy(first, BINDERS, BIND_QUALIFIERS)?.means);
    }
    for word in words {
        let found = this.find("qualifier", word, BIND_QUALIFIERS)?;
        match found.means {
            BindQualifier::Overload(yes) => {
                this.choose(&mut directive.overload, yes, ["overload-allowed", "no-overload"])?;
            }
            BindQualifier::IfSupported => directive.if_supported = true,
            BindQualifier::Limit => this.say(&mut directive.limit, this.number(&found)?, found.name)?,
            BindQualifier::Report => directive.report = true,
        }
    }
    Ok(directive)
}
