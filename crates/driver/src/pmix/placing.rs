//! Placement in a spawn request: the keys of the job and of each app become requests like those of a command line. The
//! daemon that serves the caller reads the files that they name.

use std::ffi::CStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use ferrite_map::directive::{join, parse_bind_to, parse_map_by, parse_rank_by};
use ferrite_pmix::{App, Info, Value};
use ferrite_pmix_sys as sys;
use ferrite_rm::{hostlist, places};
use ferrite_types::{JobSpec, MapBy, MapRequest};

use super::spawn::Refused;

/// The placement keys of one array of a spawn request.
#[derive(Debug, Default)]
struct Said {
    request: MapRequest,
    /// `FILE=path` of its mapping policy.
    file: Option<String>,
    /// True when it has a mapping of its own.
    maps: bool,
    report: bool,
    /// `DISPLAY` of the mapping: the job map is shown.
    display: bool,
}

/// Sets the placement of the job and its apps; `dir` is the directory of an app that names none. Each array of keys
/// applies to its job or app, except for keys that apply to the whole job wherever they stand.
pub(super) fn place(info: &[Info], apps: &[App], dir: &str, spec: &mut JobSpec) -> Result<(), Refused> {
    let cwd = |app: &App| app.cwd.clone().unwrap_or_else(|| dir.to_owned());
    let mut job = Said::of(info)?;
    let own = apps.iter().map(|app| Said::of(&app.info)).collect::<Result<Vec<_>, _>>()?;
    let all = || std::iter::once(&job).chain(&own);
    let oversubscribe = agreed(all().map(|said| said.request.oversubscribe), "OVERSUBSCRIBE and NOOVERSUBSCRIBE")?;
    let inherit = agreed(all().map(|said| said.request.inherit), "INHERIT and NOINHERIT")?;
    spec.display.bind |= all().any(|said| said.report);
    spec.display.map |= all().any(|said| said.display);
    (job.request.oversubscribe, job.request.inherit) = (oversubscribe, inherit);
    job.read_file(&apps.first().map(cwd).unwrap_or_default())?;
    for (at, (app, mut said)) in apps.iter().zip(own).enumerate() {
        let context = &mut spec.apps[at];
        let speaks = said.maps || said.request != MapRequest::default();
        if speaks {
            said.read_file(&cwd(app))?;
            context.map = Some(said.over(&job.request));
        }
        let request = context.map.get_or_insert_with(|| job.request.clone());
        go_through_hosts(request, &app.info)?;
        let alone = speaks || apps.len() == 1;
        let lines = lines(request).filter(|_| alone);
        context.np = context.np.or(lines);
    }
    spec.map = job.request;
    // A value of the job is set once.
    for context in &mut spec.apps {
        context.map = context.map.take().filter(|own| *own != spec.map);
    }
    if let [alone] = &mut spec.apps[..]
        && let Some(own) = alone.map.take()
    {
        spec.map = own;
    }
    Ok(())
}

impl Said {
    fn of(info: &[Info]) -> Result<Said, Refused> {
        let mut said = Said::default();
        let mut pieces = Vec::new();
        for info in info {
            let wrong = |cause: &dyn std::fmt::Display| Refused::Malformed(format!("{}: {cause}", info.key));
            if info.is(sys::PMIX_MAPPER) {
                return Err(Refused::NotSupported(
                    "pmix.mapper: say how to map with pmix.mapby, as slot or ppr:2:node",
                ));
            }
            if let Some(piece) = piece(info)? {
                pieces.push(piece);
            } else if info.is(sys::PMIX_RANKBY) {
                said.request.rank_by = Some(parse_rank_by(text(info)?).map_err(|e| wrong(&e))?);
            } else if info.is(sys::PMIX_BINDTO) {
                let bind = parse_bind_to(text(info)?).map_err(|e| wrong(&e))?;
                bind.apply(&mut said.request);
                said.report |= bind.report;
            } else if info.is(sys::PMIX_REPORT_BINDINGS) {
                said.report |= yes(info);
            }
        }
        let placement = |cause: &dyn std::fmt::Display| Refused::Malformed(format!("pmix.mapby: {cause}"));
        if let Some(text) = join("--map-by", &pieces).map_err(|e| placement(&e))? {
            let map = parse_map_by(&text).map_err(|e| placement(&e))?;
            map.apply(&mut said.request);
            said.display = map.display;
            said.file = map.file;
            said.maps = true;
        }
        Ok(said)
    }

    /// Adds these keys to the job's. The app's own mapping replaces the job's.
    fn over(self, job: &MapRequest) -> MapRequest {
        let own = self.request;
        let map = if self.maps { own.clone() } else { job.clone() };
        MapRequest {
            oversubscribe: job.oversubscribe,
            inherit: job.inherit,
            rank_by: own.rank_by.or(job.rank_by),
            bind_to: own.bind_to.or(job.bind_to),
            overload: own.overload.or(job.overload),
            bind_if_supported: own.bind_if_supported || job.bind_if_supported,
            bind_limit: own.bind_limit.or(job.bind_limit),
            ..map
        }
    }

    fn read_file(&mut self, dir: &str) -> Result<(), Refused> {
        let Some(file) = &self.file else { return Ok(()) };
        let text =
            read(file, Path::new(dir)).map_err(|cause| Refused::Malformed(format!("the file {file}: {cause}")))?;
        let wrong = |e: places::PlacesError| Refused::Malformed(e.to_string());
        match &mut self.request.by {
            Some(MapBy::Seq(lines)) => *lines = places::parse_sequence(file, &text).map_err(wrong)?,
            Some(MapBy::RankFile(lines)) => *lines = places::parse_ranks(file, &text).map_err(wrong)?,
            _ => {}
        }
        Ok(())
    }
}

/// Returns the part of a `--map-by` value that a key stands for.
fn piece(info: &Info) -> Result<Option<String>, Refused> {
    let bool = |qualifier: &str| Some(if yes(info) { qualifier.to_owned() } else { return None });
    if info.is(sys::PMIX_MAPBY) {
        return text(info).map(|text| Some(text.to_owned()));
    }
    if info.is(sys::PMIX_PPR) {
        let text = text(info)?;
        let named = text.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("ppr:"));
        return Ok(Some(if named { text.to_owned() } else { format!("ppr:{text}") }));
    }
    if info.is(sys::PMIX_CPU_LIST) {
        return text(info).map(|list| Some(format!("pe-list={list}")));
    }
    if info.is(sys::PMIX_CPUS_PER_PROC) {
        let number = info.value.as_i64().filter(|n| *n > 0);
        let wrong = || Refused::Malformed(format!("{}: no number of processors", info.key));
        return number.map(|n| Some(format!(":PE={n}"))).ok_or_else(wrong);
    }
    let qualifiers: [(&CStr, &str); 2] =
        [(sys::PMIX_NO_PROCS_ON_HEAD, ":NOLOCAL"), (sys::PMIX_NO_OVERSUBSCRIBE, ":NOOVERSUBSCRIBE")];
    Ok(qualifiers.into_iter().find(|(key, _)| info.is(key)).and_then(|(_, qualifier)| bool(qualifier)))
}

pub(super) fn text(info: &Info) -> Result<&str, Refused> {
    info.value.as_str().ok_or_else(|| Refused::Malformed(format!("{}: no text", info.key)))
}

fn yes(info: &Info) -> bool {
    !matches!(info.value, Value::Bool(false))
}

/// Returns the common value: oversubscription and inheritance belong to the job, wherever they stand.
fn agreed(answers: impl Iterator<Item = Option<bool>>, words: &str) -> Result<Option<bool>, Refused> {
    let mut agreed = None;
    for answer in answers.flatten() {
        if agreed.is_some_and(|before| before != answer) {
            return Err(Refused::Malformed(format!("pmix.mapby: {words} are said of one job; leave out one of them")));
        }
        agreed = Some(answer);
    }
    Ok(agreed)
}

/// Makes a sequence without a file: one process each time that a host is named.
fn go_through_hosts(request: &mut MapRequest, info: &[Info]) -> Result<(), Refused> {
    let Some(MapBy::Seq(lines)) = &mut request.by else { return Ok(()) };
    let Some(hosts) = info.iter().find(|info| info.is(sys::PMIX_HOST)).filter(|_| lines.is_empty()) else {
        return Ok(());
    };
    let namings = hostlist::parse_namings(text(hosts)?).map_err(|e| Refused::Malformed(e.to_string()))?;
    let unknown =
        || Refused::Malformed("a sequence goes from host to host, and +e does not say which those are".to_owned());
    *lines = places::sequence_through(&namings).ok_or_else(unknown)?;
    Ok(())
}

/// Returns the number of processes that the lines of a file define.
fn lines(request: &MapRequest) -> Option<u32> {
    let lines = match &request.by {
        Some(MapBy::Seq(lines)) => lines.len(),
        Some(MapBy::RankFile(lines)) => lines.len(),
        _ => 0,
    };
    u32::try_from(lines).ok().filter(|n| *n > 0)
}

/// Larger than any list of processes (bytes): a larger file is the wrong one.
const LIMIT: u64 = 64 << 20;

/// Returns the text of a file. A relative path needs `dir`, because the directory of the calling process is not known
/// here.
pub(super) fn read(file: &str, dir: &Path) -> Result<String, String> {
    let path: PathBuf = dir.join(file);
    if !path.is_absolute() {
        return Err("its directory is not known; give its whole path, or the directory of the app".to_owned());
    }
    let meta = std::fs::metadata(&path).map_err(|e| e.to_string())?;
    // This check comes before opening: opening a pipe would wait for a writer.
    if !meta.is_file() || meta.len() > LIMIT {
        return Err("it is no regular file of at most 64 MB".to_owned());
    }
    let mut text = String::new();
    let opened = std::fs::File::open(&path).map_err(|e| e.to_string())?;
    opened.take(LIMIT).read_to_string(&mut text).map_err(|e| e.to_string())?;
    Ok(text)
}

#[cfg(test)]
pub(super) mod tests {
    use ferrite_types::{BindTo, HostRef, ObjectKind, RankBy};

    use super::super::spawn::submission;
    use super::*;

    pub(in super::super) fn info(key: &str, value: impl Into<Value>) -> Info {
        Info { key: key.to_owned(), value: value.into() }
    }

    fn app(maxprocs: u32, info: Vec<Info>) -> App {
        App { argv: vec!["a".to_owned()], arg0: None, env: Vec::new(), cwd: None, maxprocs, info, required: Vec::new() }
    }

    fn placed(job: &[Info], apps: &[App], dir: &str) -> Result<JobSpec, Refused> {
        submission(job, apps, dir).map(|wish| wish.spec)
    }

    fn refused(job: &[Info], own: Vec<Info>) -> String {
        placed(job, &[app(1, own), app(1, Vec::new())], "").unwrap_err().to_string()
    }

    #[test]
    fn all_keys_of_an_array_are_one_request() {
        let job = [
            info("pmix.ppr", "2:package"),
            info("pmix.cpuperproc", 3u32),
            info("pmix.nolocal", true),
            info("pmix.noover", true),
            info("pmix.rankby", "slot"),
            info("pmix.bindto", "core:overload-allowed:report"),
        ];
        let spec = placed(&job, &[app(4, Vec::new())], "").unwrap();
        let map = &spec.map;
        assert_eq!((map.by.clone(), map.pes), (Some(MapBy::PerObject(2, ObjectKind::Package)), Some(3)));
        assert_eq!((map.nolocal, map.oversubscribe, map.rank_by), (true, Some(false), Some(RankBy::Slot)));
        assert_eq!((map.bind_to, map.overload), (Some(BindTo::Object(ObjectKind::Core)), Some(true)));
        assert!(spec.display.bind && spec.apps[0].map.is_none());
        let list = placed(&[info("pmix.cpulist", "0,2-3")], &[app(1, Vec::new())], "").unwrap().map.by;
        assert!(matches!(list, Some(MapBy::PeList(list)) if list.cpus.to_string() == "0,2-3"));
    }

    #[test]
    fn an_app_speaks_for_itself_and_for_what_is_the_whole_jobs() {
        let job = [info("pmix.mapby", "package:pe=2"), info("pmix.bindto", "numa")];
        let apps = [
            app(1, vec![info("pmix.mapby", "node:inherit")]),
            app(1, Vec::new()),
            app(1, vec![info("pmix.rankby", "fill")]),
        ];
        let spec = placed(&job, &apps, "").unwrap();
        let own = |at: usize| spec.apps[at].map.clone();
        assert_eq!((spec.map.pes, spec.map.inherit), (Some(2), Some(true)));
        let node = MapRequest { by: Some(MapBy::Node), pes: None, ..spec.map.clone() };
        assert_eq!((own(0), own(1)), (Some(node), None));
        assert_eq!(own(2), Some(MapRequest { rank_by: Some(RankBy::Fill), ..spec.map.clone() }));
        let alone = placed(&[], &[app(1, vec![info("pmix.mapby", "node")])], "").unwrap();
        assert_eq!((alone.map.by, alone.apps[0].map.clone()), (Some(MapBy::Node), None));
    }

    #[test]
    fn files_are_read_where_the_caller_is() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ranks"), "rank 0=n0\nrank 1=n1\n").unwrap();
        let at = dir.path().to_string_lossy();
        let wish = [info("pmix.mapby", "rankfile:FILE=ranks")];
        let spec = placed(&wish, &[app(0, Vec::new())], &at).unwrap();
        assert!(matches!(&spec.map.by, Some(MapBy::RankFile(lines)) if lines.len() == 2));
        assert_eq!(spec.apps[0].np, Some(2));
        let told = |dir: &str| placed(&wish, &[app(0, Vec::new())], dir).unwrap_err().to_string();
        assert!(told("").contains("its directory is not known"));
        assert!(told("/").starts_with("the file ranks: "));
    }

    #[test]
    fn a_sequence_without_a_file_goes_through_the_hosts_of_its_app() {
        let hosts = vec![info("pmix.host", "n1,n0:4,n1")];
        let spec = placed(&[info("pmix.mapby", "seq")], &[app(0, hosts)], "").unwrap();
        let Some(MapBy::Seq(lines)) = &spec.map.by else { panic!("no sequence") };
        let name = |host: &HostRef| matches!(host, HostRef::Host(host) if host.name == "n1");
        assert_eq!(lines.iter().map(|line| name(&line.host)).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(spec.apps[0].np, Some(3));
    }

    #[test]
    fn what_contradicts_itself_is_refused_and_so_is_the_name_of_a_mapper() {
        let mapper = placed(&[info("pmix.mapper", "ppr")], &[app(1, Vec::new())], "").unwrap_err();
        assert_eq!(mapper.status(), ferrite_pmix::Status::NOT_SUPPORTED);
        let own = placed(&[], &[app(1, vec![info("pmix.mapper", "ppr")])], "").unwrap_err();
        assert_eq!(own, mapper);
        for (job, own, cause) in [
            (vec![info("pmix.mapby", "core"), info("pmix.ppr", "2:node")], vec![], "two policies"),
            (vec![info("pmix.cpulist", "0-3"), info("pmix.cpuperproc", 2u32)], vec![], "PE does not go with pe-list"),
            (vec![info("pmix.mapby", ":over"), info("pmix.noover", true)], vec![], "contradict each other"),
            (vec![info("pmix.mapby", ":over")], vec![info("pmix.mapby", ":noover")], "are said of one job"),
            (vec![info("pmix.cpuperproc", 0u32)], vec![], "no number of processors"),
            (vec![info("pmix.bindto", 7u32)], vec![], "no text"),
            (vec![info("pmix.mapby", "seq")], vec![info("pmix.host", "+e")], "does not say which"),
        ] {
            let told = refused(&job, own);
            assert!(told.contains(cause), "{told}");
        }
    }
}
