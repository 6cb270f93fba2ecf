//! `--map-by`, `--rank-by`, `--bind-to`, `-N`, and the deprecated options that became them. `ferrite-map` parses the
//! directives; this module joins their parts, and decides to which applications they apply.

use ferrite_map::directive::{
    BindDirective, DirectiveError, MapDirective, join, parse_bind_to, parse_map_by, parse_rank_by,
};
use ferrite_rm::Params;
use ferrite_types::resources::{MEMORY, Takes, parse_bytes, parse_takes};
use ferrite_types::{CpuKind, MapBy, MapRequest, RankBy};

use super::error::UsageError;
use super::words;

/// Returns the help topic of an option.
fn topic(option: &str) -> &'static str {
    match option {
        "--rank-by" => "`prterun --help ranking` explains what there is.",
        "--bind-to" => "`prterun --help binding` explains what there is.",
        _ => "`prterun --help mapping` explains what there is.",
    }
}

/// The placement options of one application.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    map: Option<MapDirective>,
    rank: Option<RankBy>,
    bind: Option<BindDirective>,
}

impl Said {
    /// Joins the directives and qualifiers of one application. Deprecated options such as `--oversubscribe` add a
    /// qualifier to the directive of `--map-by`.
    pub(crate) fn of(
        map_by: &[String],
        rank_by: &[String],
        bind_to: &[String],
        per_node: Option<&str>,
    ) -> Result<Said, UsageError> {
        let mut map: Vec<String> = map_by.to_vec();
        if let Some(n) = per_node {
            map.push(format!("ppr:{}:node", count("-N", n)?));
        }
        let text = |option, pieces: &[String]| join(option, pieces).map_err(refused);
        Ok(Said {
            map: text("--map-by", &map)?.map(|t| parse_map_by(&t).map_err(refused)).transpose()?,
            rank: text("--rank-by", rank_by)?.map(|t| parse_rank_by(&t).map_err(refused)).transpose()?,
            bind: text("--bind-to", bind_to)?.map(|t| parse_bind_to(&t).map_err(refused)).transpose()?,
        })
    }
}

fn refused(error: DirectiveError) -> UsageError {
    UsageError::foreign(&error, topic(error.option))
}

/// The amounts that the processes of an application take (`--mem`, `--resource`).
pub(super) fn takes(mem: Option<&str>, resource: &[String]) -> Result<Takes, UsageError> {
    let next = "Give what each process takes, as fpga=1 or mem=4G, or licence=1/job; `pdvm nodes` shows what there is.";
    let mut takes =
        parse_takes(&resource.join(",")).map_err(|e| UsageError::value("--resource", e.to_string(), next))?;
    if !resource.is_empty() && takes == Takes::default() {
        return Err(UsageError::value("--resource", "the list is empty".to_owned(), next));
    }
    if let Some(text) = mem {
        let wrong =
            || UsageError::value("--mem", format!("{text:?} is no amount of memory"), "Give bytes, or as 512M or 4G.");
        let bytes = parse_bytes(text).filter(|bytes| *bytes > 0).ok_or_else(wrong)?;
        if takes.each.insert(MEMORY.to_owned(), bytes).is_some() {
            return Err(UsageError::Conflict {
                what: "--mem and --resource mem=... are both given".to_owned(),
                next: "Keep one of them.".to_owned(),
            });
        }
    }
    Ok(takes)
}

/// A request for placement, and the rankfile or sequence that it names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) request: MapRequest,
    pub(crate) file: Option<String>,
}

/// Placement of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placement {
    /// Placement of the applications without their own.
    pub(crate) job: Placed,
    /// Placement of the applications that have their own, in the order of the line.
    pub(crate) apps: Vec<Option<Placed>>,
    /// The applications whose bindings are displayed, by their index.
    pub(crate) report: Vec<u16>,
    /// True when the job map is displayed (`--map-by :DISPLAY`).
    pub(crate) map: bool,
}

/// Decides to which applications directives apply, for mapping, ranking and binding separately. A directive that only
/// the first application has applies to the job. Otherwise each directive applies to its own application, and
/// applications without one have the default.
pub(crate) fn of_job(said: &[Said]) -> Result<Placement, UsageError> {
    let first_only = |says: fn(&Said) -> bool| !said.iter().skip(1).any(says);
    let (map, rank, bind) =
        (first_only(|s| s.map.is_some()), first_only(|s| s.rank.is_some()), first_only(|s| s.bind.is_some()));
    let mut job = Placed::default();
    if let Some(first) = said.first() {
        job.take(first, map, rank, bind);
    }
    let mut apps = Vec::new();
    for own in said {
        let mut placed = job.clone();
        placed.take(own, !map, !rank, !bind);
        apps.push(placed);
    }
    for_all(said, &mut job, &mut apps)?;
    // Equal directives of all applications are one of the job. This is not so for files: each counts from the first
    // process of its application.
    if let Some((one, others)) = apps.split_first()
        && one.file.is_none()
        && others.iter().all(|other| other == one)
    {
        job = one.clone();
    }
    let apps = apps.into_iter().map(|own| Some(own).filter(|own| *own != job)).collect();
    let map = said.iter().any(|s| s.map.as_ref().is_some_and(|map| map.display));
    let reports =
        |own: &Said| if bind { said.first() } else { Some(own) }.and_then(|s| s.bind).is_some_and(|b| b.report);
    let report = (0..).zip(said).filter(|(_, own)| reports(own)).map(|(app, _)| app).collect();
    Ok(Placement { job, apps, map, report })
}

/// Applies oversubscription and inheritance to the whole job, wherever they are written.
fn for_all(said: &[Said], job: &mut Placed, apps: &mut [Placed]) -> Result<(), UsageError> {
    let maps = || said.iter().filter_map(|s| s.map.as_ref());
    let oversubscribe = agreed(maps().map(|m| m.oversubscribe), "OVERSUBSCRIBE and NOOVERSUBSCRIBE")?;
    let inherit = agreed(maps().map(|m| m.inherit), "INHERIT and NOINHERIT")?;
    for placed in apps.iter_mut().chain([job]) {
        placed.request.oversubscribe = oversubscribe;
        placed.request.inherit = inherit;
    }
    Ok(())
}

fn agreed(answers: impl Iterator<Item = Option<bool>>, words: &str) -> Result<Option<bool>, UsageError> {
    let mut agreed = None;
    for answer in answers.flatten() {
        if agreed.is_some_and(|before| before != answer) {
            return Err(UsageError::Conflict {
                what: format!("--map-by: {words} are given at different programs of one job"),
                next: "It holds for the whole job, whichever program it stands at: keep one of them.".to_owned(),
            });
        }
        agreed = Some(answer);
    }
    Ok(agreed)
}

impl Placed {
    fn take(&mut self, said: &Said, map: bool, rank: bool, bind: bool) {
        if let Some(directive) = said.map.as_ref().filter(|_| map) {
            directive.apply(&mut self.request);
            self.file.clone_from(&directive.file);
        }
        self.request.rank_by = said.rank.filter(|_| rank).or(self.request.rank_by);
        if let Some(directive) = said.bind.filter(|_| bind) {
            directive.apply(&mut self.request);
        }
    }
}

/// The placement parameters.
#[derive(Debug, Default)]
pub(crate) struct Defaults {
    map: Option<MapDirective>,
    rank: Option<RankBy>,
    bind: Option<BindDirective>,
    inherit: bool,
    hwthreads: bool,
}

impl Defaults {
    /// Reads `mapby`, `rankby`, `bindto`, `rmaps_default_inherit` and `hwloc_base_use_hwthreads_as_cpus`.
    pub(crate) fn of(params: &Params) -> Result<Defaults, UsageError> {
        let param = |name: &str| params.text(name).ok().flatten();
        let of_parameter = |name, error: &DirectiveError| of_parameter(&params.label(name), error);
        let yes = |name| param(name).and_then(words::boolean) == Some(true);
        let defaults = Defaults {
            map: param("mapby").map(parse_map_by).transpose().map_err(|e| of_parameter("mapby", &e))?,
            rank: param("rankby").map(parse_rank_by).transpose().map_err(|e| of_parameter("rankby", &e))?,
            bind: param("bindto").map(parse_bind_to).transpose().map_err(|e| of_parameter("bindto", &e))?,
            inherit: yes("rmaps_default_inherit"),
            hwthreads: yes("hwloc_base_use_hwthreads_as_cpus"),
        };
        if defaults.map.as_ref().is_some_and(|map| map.display) {
            return Err(UsageError::value(
                &params.label("mapby"),
                "DISPLAY shows the map of one job and is no default",
                "Set the parameter display to map, which is the default of --display.",
            ));
        }
        match defaults.bind {
            Some(BindDirective { report: true, .. }) => Err(UsageError::value(
                &params.label("bindto"),
                "report shows the bindings of one job and is no default",
                "Set the parameter display to bind, which is the default of --display.",
            )),
            _ => Ok(defaults),
        }
    }

    /// Refuses defaults of a DVM that name a file: a DVM has no directory of a user.
    pub(crate) fn check_for_dvm(&self) -> Result<(), UsageError> {
        match self.map.as_ref().and_then(|map| map.file.as_ref()) {
            None => Ok(()),
            Some(file) => Err(UsageError::value(
                "parameter mapby",
                format!("the file {file:?} cannot be the default of all jobs of a DVM"),
                "Give it with the job: prun --map-by rankfile:FILE=path",
            )),
        }
    }

    /// Fills in the placement that the line leaves open.
    pub(crate) fn fill(&self, request: &mut MapRequest, file: &mut Option<String>) {
        if let Some(map) = &self.map {
            if request.by.is_none() {
                file.clone_from(&map.file);
            }
            map.fill(request);
        }
        request.rank_by = request.rank_by.or(self.rank);
        if let Some(bind) = self.bind {
            bind.fill(request);
        }
        request.inherit = request.inherit.or(self.inherit.then_some(true));
        request.cpus = request.cpus.or(self.hwthreads.then_some(CpuKind::HwThread));
    }
}

/// Returns the error for a directive in a parameter: it names the parameter instead of the option.
fn of_parameter(label: &str, error: &DirectiveError) -> UsageError {
    let text = format!("{label} (the default of the option that follows): {error}");
    UsageError::Foreign { text, next: topic(error.option) }
}

/// True when the directive itself says how many processes there are.
pub(crate) fn counts(by: Option<&MapBy>) -> bool {
    matches!(by, Some(MapBy::PerNode(_) | MapBy::PerObject(..) | MapBy::PerDevice(..)))
}

/// Parses a number of processes, at least one.
pub(crate) fn count(option: &str, text: &str) -> Result<u32, UsageError> {
    let refuse =
        |why: &str| UsageError::value(option, format!("{text:?} {why}"), "Give the number of processes, 1 or more.");
    match text.parse::<i64>() {
        Ok(n) if n < 0 => Err(refuse("is negative")),
        Ok(0) => Err(refuse("would start nothing")),
        Ok(n) => u32::try_from(n).map_err(|_| refuse("is too large")),
        Err(_) => Err(refuse("is not a number")),
    }
}
