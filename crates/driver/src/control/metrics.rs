//! The DVM's counters for Prometheus: plain HTTP on a Unix socket or a port of the loopback interface, one request per
//! connection. Each request is answered from the machine; nothing is cached.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use ferrite_wire::control::{Histogram, Metrics, Reply, Request, ResourceStatus};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::oneshot;
use tokio::task::spawn_local;

use super::{Control, Requests, explain};
use crate::accepting::{self, Bounds, Strangers};

/// Bounds on connections, because every user of this machine may connect. Each takes its answer within the limit.
pub(super) const ASKERS: Bounds = Bounds { most: 64, share_of_files: 64, limit: Duration::from_secs(10) };
const OTHER_PLACE: &str = "Give ferrite_metrics a free port, or a path in a directory that can be written to.";
/// A request of a browser has a few hundred bytes.
const LONGEST_REQUEST: usize = 16 * 1024;

/// Serves metrics at `place` (parameter `ferrite_metrics`): a port, or the path of a socket. Returns the file to remove
/// at the end.
///
/// # Errors
/// When nothing can listen there.
pub(crate) fn listen(control: &Control, place: &str) -> io::Result<Option<PathBuf>> {
    let requests = control.requests();
    if let Ok(port) = place.parse::<u16>() {
        let name = |error: io::Error| {
            io::Error::new(error.kind(), format!("port {port} for metrics cannot be opened: {error}.\n{OTHER_PLACE}"))
        };
        let listener = std::net::TcpListener::bind(("127.0.0.1", port)).map_err(name)?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        spawn_local(async move {
            let mut askers = Strangers::new("metrics", ASKERS);
            loop {
                let (stream, from) = accepting::next("metrics", async || listener.accept().await).await;
                askers.greet(from, answer(stream, requests.clone()));
            }
        });
        return Ok(None);
    }
    let path = PathBuf::from(place);
    let listener = UnixListener::bind(&path).map_err(explain("the socket for metrics", &path, OTHER_PLACE))?;
    spawn_local(async move {
        let mut askers = Strangers::new("metrics", ASKERS);
        loop {
            let (stream, _) = accepting::next("metrics", async || listener.accept().await).await;
            askers.greet("the socket", answer(stream, requests.clone()));
        }
    });
    Ok(Some(path))
}

async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, requests: Requests) {
    let exchange = async {
        let line = read_request(&mut stream).await?;
        let (status, body) = match line.split(' ').collect::<Vec<_>>()[..] {
            ["GET", "/" | "/metrics", ..] => match ask(&requests).await {
                Some(metrics) => ("200 OK", text(&metrics)),
                None => ("503 Service Unavailable", "The DVM is ending.\n".to_owned()),
            },
            ["GET", ..] => ("404 Not Found", "Ask for /metrics.\n".to_owned()),
            _ => ("405 Method Not Allowed", "Ask with GET for /metrics.\n".to_owned()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).await?;
        stream.shutdown().await
    };
    // The requester sees the outcome itself; no other party needs it.
    let _ = exchange.await;
}

/// Returns the first line of a request after its whole header has come.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < LONGEST_REQUEST {
        if stream.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    let text = String::from_utf8_lossy(&head);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

async fn ask(requests: &Requests) -> Option<Metrics> {
    let (answer, answered) = oneshot::channel();
    // The requester may have given up by then.
    requests.ask(Request::Metrics, move |reply| drop(answer.send(reply)));
    match answered.await {
        Ok(Reply::Metrics(metrics)) => Some(*metrics),
        _ => None,
    }
}

/// Formats the metrics in the exposition format, version 0.0.4.
fn text(metrics: &Metrics) -> String {
    let status = &metrics.status;
    let mut out = String::new();
    let mut one = |name: &str, kind: &str, help: &str, value: u64| {
        let _ = writeln!(out, "# HELP ferrite_{name} {help}\n# TYPE ferrite_{name} {kind}\nferrite_{name} {value}");
    };
    one("jobs_submitted_total", "counter", "Jobs that were taken.", metrics.jobs_submitted);
    one("jobs_started_total", "counter", "Jobs all of whose processes were started.", metrics.jobs_started);
    one("jobs_ended_total", "counter", "Jobs that are over.", status.jobs_ended);
    one("jobs_failed_total", "counter", "Jobs that ended with an exit code other than zero.", status.jobs_failed);
    one("procs_started_total", "counter", "Processes that were started.", metrics.procs_started);
    one("output_bytes_total", "counter", "Output of processes that came to the head.", metrics.output_bytes);
    one("stdin_bytes_total", "counter", "Standard input that was passed on to processes.", metrics.stdin_bytes);
    one("xcasts_total", "counter", "Broadcasts to all daemons.", metrics.xcasts);
    one("daemons_lost_total", "counter", "Daemons that were lost.", metrics.daemons_lost);
    one("repairs_total", "counter", "Repairs of the routing tree that all daemons have done.", metrics.repairs);
    one("rejoins_total", "counter", "Daemons that lost their parent and found another.", metrics.rejoins);
    one("grows_total", "counter", "Grow campaigns that ended well.", metrics.grows);
    one("grows_failed_total", "counter", "Grow campaigns that failed and were rolled back.", metrics.grows_failed);
    one("shrinks_total", "counter", "Shrink campaigns that ended.", metrics.shrinks);
    one("campaigns_open", "gauge", "Changes of the size that are under way.", status.campaigns.len() as u64);
    one("jobs_held", "gauge", "Jobs that wait for a change of the size to end.", status.jobs_held.into());
    one("jobs_running", "gauge", "Jobs that are not over and do not wait.", status.jobs_running.into());
    one("jobs_queued", "gauge", "Jobs that wait for slots.", status.jobs_queued.into());
    one("procs_running", "gauge", "Processes that run.", status.procs_running.into());
    one("nodes", "gauge", "Nodes of the pool.", status.nodes.into());
    one("daemons", "gauge", "Nodes with a daemon.", status.daemons.into());
    one("slots", "gauge", "Slots of the nodes with a daemon.", status.slots.into());
    one("slots_in_use", "gauge", "Slots in use.", status.slots_in_use.into());
    shared_resources(&mut out, &status.resources);
    if !metrics.late_messages.is_empty() {
        let name = "ferrite_late_messages_total";
        let _ = writeln!(out, "# HELP {name} Messages about what was over.\n# TYPE {name} counter");
        for (kind, count) in &metrics.late_messages {
            let _ = writeln!(out, "{name}{{kind=\"{kind}\"}} {count}");
        }
    }
    histogram(&mut out, &metrics.launch);
    out
}

/// The resources that all nodes share. Their names need no escapes: they have letters, digits, `_`, `-` and `.`.
fn shared_resources(out: &mut String, resources: &[ResourceStatus]) {
    if resources.is_empty() {
        return;
    }
    let mut gauge = |name: &str, help: &str, value: fn(&ResourceStatus) -> u64| {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge");
        for resource in resources {
            let _ = writeln!(out, "{name}{{resource=\"{}\"}} {}", resource.name, value(resource));
        }
    };
    gauge("ferrite_resource", "What all nodes share of a resource.", |resource| resource.amount);
    gauge("ferrite_resource_in_use", "What jobs have of a resource that all nodes share.", |resource| resource.in_use);
}

fn histogram(out: &mut String, launch: &Histogram) {
    const NAME: &str = "ferrite_launch_seconds";
    let _ = writeln!(out, "# HELP {NAME} From the submission of a job to the start of its last process.");
    let _ = writeln!(out, "# TYPE {NAME} histogram");
    let seconds = |us: u64| us as f64 / 1e6;
    let mut so_far = 0;
    for (limit, count) in &launch.buckets {
        so_far += count;
        let _ = writeln!(out, "{NAME}_bucket{{le=\"{}\"}} {so_far}", seconds(*limit));
    }
    so_far += launch.above;
    let _ = writeln!(out, "{NAME}_bucket{{le=\"+Inf\"}} {so_far}");
    let _ = writeln!(out, "{NAME}_sum {}\n{NAME}_count {so_far}", seconds(launch.sum_us));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ferrite_wire::control::{DvmStatus, Histogram, Metrics, ResourceStatus};

    fn metrics() -> Metrics {
        let status = DvmStatus {
            dvm: "dvm".to_owned(),
            version: "0".to_owned(),
            now_us: 0,
            state: None,
            waiting_for: String::new(),
            nodes: 4,
            daemons: 3,
            slots: 12,
            slots_in_use: 2,
            jobs_running: 1,
            jobs_queued: 0,
            jobs_held: 0,
            campaigns: Vec::new(),
            jobs_ended: 9,
            jobs_failed: 1,
            procs_running: 2,
            resources: vec![ResourceStatus { name: "licence".to_owned(), amount: 8, in_use: 3 }],
        };
        Metrics {
            status,
            jobs_submitted: 10,
            jobs_started: 10,
            procs_started: 20,
            launch: Histogram { buckets: vec![(1_000, 4), (10_000, 5)], above: 1, sum_us: 34_000 },
            output_bytes: 0,
            stdin_bytes: 0,
            xcasts: 3,
            daemons_lost: 0,
            repairs: 0,
            grows: 0,
            grows_failed: 0,
            shrinks: 0,
            rejoins: 0,
            late_messages: vec![("Exited".to_owned(), 2)],
        }
    }

    fn names(text: &str) -> BTreeSet<&str> {
        let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
        let words = text.split(|c| !is_part(c)).filter(|word| word.starts_with("ferrite_"));
        words.map(|word| word.trim_end_matches("_bucket").trim_end_matches("_sum").trim_end_matches("_count")).collect()
    }

    #[test]
    fn a_histogram_counts_all_values_up_to_each_limit() {
        let text = super::text(&metrics());
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("ferrite_launch_seconds")).collect();
        let expected = [
            "ferrite_launch_seconds_bucket{le=\"0.001\"} 4",
            "ferrite_launch_seconds_bucket{le=\"0.01\"} 9",
            "ferrite_launch_seconds_bucket{le=\"+Inf\"} 10",
            "ferrite_launch_seconds_sum 0.034",
            "ferrite_launch_seconds_count 10",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn shared_resources_have_a_line_for_each_name() {
        let text = super::text(&metrics());
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("ferrite_resource")).collect();
        assert_eq!(
            lines,
            ["ferrite_resource{resource=\"licence\"} 8", "ferrite_resource_in_use{resource=\"licence\"} 3"]
        );
    }

    #[test]
    fn the_dashboard_for_grafana_shows_all_metrics_and_no_others() {
        let dashboard = include_str!("../../../../docs/grafana.json");
        assert_eq!(names(dashboard), names(&super::text(&metrics())));
    }
}
