//! `--map-by`, `--rank-by`, `--bind-to`, `-N`, and the deprecated options that became them. The directives themselves
//! belong to `ferrite-map`; here pieces are joined and it is decided for whom they hold.

use ferrite_map::directive::{parse_bind_to, parse_map_by, parse_rank_by};
use ferrite_types::MapRequest;

use super::error::UsageError;

/// Where the words are explained.
const TOPIC: &str = "`prterun --help mapping` explains what there is.";

/// What one application says of placement: at most one policy per step, all qualifiers behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlacementText {
    map_by: Option<String>,
    rank_by: Option<String>,
    bind_to: Option<String>,
}

impl PlacementText {
    /// Joins the pieces. Deprecated options such as `--oversubscribe` add a qualifier to whatever `--map-by` says.
    pub(crate) fn of(
        map_by: &[String],
        rank_by: &[String],
        bind_to: &[String],
        per_node: Option<&str>,
    ) -> Result<PlacementText, UsageError> {
        let mut map: Vec<String> = map_by.to_vec();
        if let Some(n) = per_node {
            map.push(format!("ppr:{}:node", count("-N", n)?));
        }
        Ok(PlacementText {
            map_by: join("--map-by", &map)?,
            rank_by: join("--rank-by", rank_by)?,
            bind_to: join("--bind-to", bind_to)?,
        })
    }

    fn is_empty(&self) -> bool {
        *self == PlacementText::default()
    }
}

/// One text out of several pieces of which one may have a policy.
fn join(option: &str, pieces: &[String]) -> Result<Option<String>, UsageError> {
    let mut policy: Option<&str> = None;
    let mut qualifiers = String::new();
    for piece in pieces {
        let (head, rest) = split(piece);
        match policy {
            _ if head.is_empty() => {}
            None => policy = Some(head),
            Some(first) if first.eq_ignore_ascii_case(head) => {}
            Some(first) => {
                return Err(UsageError::Conflict {
                    what: format!("two policies for {option}: {first} and {head}"),
                    next: format!("Keep one of them (-N and some deprecated options are {option} as well)."),
                });
            }
        }
        if !rest.is_empty() {
            qualifiers.push_str(if qualifiers.is_empty() { ":" } else { "," });
            qualifiers.push_str(rest);
        }
    }
    let nothing = policy.is_none() && qualifiers.is_empty();
    match (nothing, pieces.is_empty()) {
        (true, true) => Ok(None),
        // An empty value: the parser of directives says what is missing.
        (true, false) => Ok(Some(pieces[0].clone())),
        _ => Ok(Some(format!("{}{qualifiers}", policy.unwrap_or_default()))),
    }
}

/// Policy and qualifiers. The policy of `ppr:N:object` has colons of its own.
fn split(piece: &str) -> (&str, &str) {
    let own = if piece.get(..4).is_some_and(|p| p.eq_ignore_ascii_case("ppr:")) { 2 } else { 0 };
    match piece.match_indices([':', ',']).nth(own) {
        Some((at, _)) => (&piece[..at], &piece[at + 1..]),
        None => (piece, ""),
    }
}

/// Placement at the first application holds for the whole job; a later one may only repeat it.
pub(crate) fn of_job(apps: &[PlacementText]) -> Result<MapRequest, UsageError> {
    let Some((first, later)) = apps.split_first() else { return Ok(MapRequest::default()) };
    if let Some(at) = later.iter().position(|p| !p.is_empty() && p != first) {
        return Err(UsageError::Unbuilt {
            option: format!("placement for application {} alone", at + 2),
            instead: "Give --map-by, --rank-by, --bind-to or -N at the first application: it holds for all. Or use --host to send \
                an application to other nodes.",
        });
    }
    let mut request = MapRequest::default();
    if let Some(text) = &first.map_by {
        parse_map_by(text).map_err(|e| UsageError::foreign(&e, TOPIC))?.apply(&mut request);
    }
    if let Some(text) = &first.rank_by {
        request.rank_by = Some(parse_rank_by(text).map_err(|e| UsageError::foreign(&e, TOPIC))?);
    }
    if let Some(text) = &first.bind_to {
        parse_bind_to(text).map_err(|e| UsageError::foreign(&e, TOPIC))?.apply(&mut request);
    }
    Ok(request)
}

/// Fills what was not asked for from the parameters `mapby`, `rankby`, `bindto`.
pub(crate) fn defaults(
    request: &mut MapRequest,
    map_by: Option<&str>,
    rank_by: Option<&str>,
    bind_to: Option<&str>,
) -> Result<(), UsageError> {
    if let Some(text) = map_by {
        let default = parse_map_by(text).map_err(|e| of_parameter("mapby", &e))?;
        request.by = request.by.take().or(default.by);
        request.oversubscribe = request.oversubscribe.or(default.oversubscribe);
        request.nolocal |= default.nolocal;
    }
    if let Some(text) = rank_by.filter(|_| request.rank_by.is_none()) {
        request.rank_by = Some(parse_rank_by(text).map_err(|e| of_parameter("rankby", &e))?);
    }
    if let Some(text) = bind_to.filter(|_| request.bind_to.is_none()) {
        parse_bind_to(text).map_err(|e| of_parameter("bindto", &e))?.apply(request);
    }
    Ok(())
}

/// The parsers speak of the option; the user has to look at the parameter.
fn of_parameter(name: &str, error: &dyn std::error::Error) -> UsageError {
    let text = format!("parameter {name} (the default of the option that follows): {error}");
    UsageError::Foreign { text, next: TOPIC }
}

/// A number of processes: at least one.
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
