//! Options of older releases of the field: each is rewritten to what replaced it, with a warning.

/// An option of older releases.
pub(crate) struct Deprecated {
    /// Its spelling, without dashes (a single letter: with one dash).
    pub(crate) names: &'static [&'static str],
    /// Its present meaning.
    pub(crate) today: Today,
}

/// The replacement of a deprecated option.
#[derive(Clone, Copy)]
pub(crate) enum Today {
    /// This option with this value.
    Flag(&'static str, &'static str),
    /// This option; the old value takes the place of `{}`.
    Value(&'static str, &'static str),
    /// Nothing: the option has had no effect for years.
    Nothing,
}

const fn flag(names: &'static [&'static str], option: &'static str, value: &'static str) -> Deprecated {
    Deprecated { names, today: Today::Flag(option, value) }
}
const fn value(names: &'static [&'static str], option: &'static str, form: &'static str) -> Deprecated {
    Deprecated { names, today: Today::Value(option, form) }
}

/// All deprecated options.
pub(crate) const DEPRECATED: &[Deprecated] = &[
    flag(&["oversubscribe"], "--map-by", ":OVERSUBSCRIBE"),
    flag(&["nooversubscribe", "no-oversubscribe"], "--map-by", ":NOOVERSUBSCRIBE"),
    flag(&["nolocal"], "--map-by", ":NOLOCAL"),
    flag(&["use-hwthread-cpus"], "--map-by", ":HWTCPUS"),
    flag(&["bynode"], "--map-by", "node"),
    flag(&["bycore"], "--map-by", "core"),
    flag(&["byslot"], "--map-by", "slot"),
    flag(&["pernode"], "--map-by", "ppr:1:node"),
    value(&["npernode"], "--map-by", "ppr:{}:node"),
    value(&["npersocket"], "--map-by", "ppr:{}:package"),
    value(&["ppr"], "--map-by", "ppr:{}"),
    value(&["cpus-per-proc", "cpus-per-rank"], "--map-by", ":PE={}"),
    value(&["cpu-set", "cpu-list"], "--map-by", "pe-list={}"),
    value(&["rankfile", "rf"], "--map-by", "rankfile:FILE={}"),
    flag(&["bind-to-core"], "--bind-to", "core"),
    flag(&["bind-to-socket"], "--bind-to", "package"),
    flag(&["bind-to-none"], "--bind-to", "none"),
    flag(&["report-bindings"], "--display", "bind"),
    flag(&["display-map"], "--display", "map"),
    flag(&["display-allocation"], "--display", "allocation"),
    flag(&["display-devel-allocation"], "--display", "allocation"),
    flag(&["display-devel-map"], "--display", "map-devel"),
    value(&["display-topo"], "--display", "topo={}"),
    flag(&["display-diffable-map"], "--display", "map"),
    flag(&["p", "parseable", "parsable"], "--display", "map:parseable"),
    flag(&["tag-output"], "--output", "tag"),
    flag(&["timestamp-output"], "--output", "timestamp"),
    flag(&["merge-stderr-to-stdout"], "--output", "merge-stderr-to-stdout"),
    flag(&["xml"], "--output", "xml"),
    value(&["output-directory"], "--output", "dir={}"),
    value(&["output-filename"], "--output", "file={}"),
    flag(&["do-not-launch"], "--runtime-options", "donotlaunch"),
    flag(&["fwd-environment"], "--runtime-options", "fwd-environment"),
    flag(&["show-progress"], "--runtime-options", "show-progress"),
    flag(&["report-child-jobs-separately"], "--runtime-options", "report-child-jobs-separately"),
    flag(&["disable-recovery"], "--runtime-options", "recoverable=0"),
    value(&["output-proctable"], "--runtime-options", "output-proctable={}"),
    Deprecated { names: &["hetero-nodes", "debug", "novm"], today: Today::Nothing },
];

impl Deprecated {
    /// Returns the deprecated option with this name.
    pub(crate) fn find(name: &str) -> Option<&'static Deprecated> {
        DEPRECATED.iter().find(|d| d.names.contains(&name))
    }
    /// Returns the number of values that the option takes.
    pub(crate) fn values(&self) -> usize {
        usize::from(matches!(self.today, Today::Value(..)))
    }
    /// Returns the present option and its value; `None` = the option is dropped.
    pub(crate) fn rewritten(&self, value: &str) -> Option<(&'static str, String)> {
        match self.today {
            Today::Flag(option, text) => Some((option, text.to_owned())),
            Today::Value(option, form) => Some((option, form.replace("{}", &in_list(option, value)))),
            Today::Nothing => None,
        }
    }
}

/// A list of nodes within a list of directives has semicolons.
fn in_list(option: &str, value: &str) -> String {
    if option == "--display" { value.replace(',', ";") } else { value.to_owned() }
}
