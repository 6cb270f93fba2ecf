//! Requests of browsers: the head of one in, the answer or the refusal out. Nothing here reads or writes.

use ferrite_types::JobId;

/// The longest head of a request (bytes); that of a browser has a few hundred.
pub(super) const LONGEST: usize = 16 * 1024;
/// The most fields in a head.
const MOST_FIELDS: usize = 64;

/// A file of the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct File {
    path: &'static str,
    pub(super) kind: &'static str,
    pub(super) text: &'static str,
}

/// The page; it holds nothing about the DVM, and needs no token.
const FILES: [File; 3] = [
    File { path: "/", kind: "text/html; charset=utf-8", text: include_str!("page/index.html") },
    File { path: "/style.css", kind: "text/css; charset=utf-8", text: include_str!("page/style.css") },
    File { path: "/app.js", kind: "text/javascript; charset=utf-8", text: include_str!("page/app.js") },
];

/// A question about the DVM; the answer is the document that `pdvm --json` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Question {
    Status,
    Nodes,
    Jobs,
    Sessions,
    Job(JobId),
}

/// The answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    File(&'static File),
    Ask(Question),
    /// A refusal: the status line's words, and what to do instead.
    Refuse(&'static str, &'static str),
}

/// True when the head of a request is whole.
pub(super) fn is_whole(head: &[u8]) -> bool {
    head.windows(4).any(|end| end == b"\r\n\r\n")
}

/// Decides about a request by its head.
pub(super) fn judge(head: &[u8], token: &str) -> Wanted {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    if !matches!(request.parse(head), Ok(httparse::Status::Complete(_))) {
        return Wanted::Refuse("400 Bad Request", "This is no request of a browser.");
    }
    let field = |name: &str| {
        let found = request.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        found.and_then(|field| std::str::from_utf8(field.value).ok())
    };
    // A page of somebody else may have the name of its host point here.
    if !field("host").is_some_and(is_here) {
        return Wanted::Refuse("421 Misdirected Request", "Ask for 127.0.0.1 or localhost.");
    }
    if request.method != Some("GET") {
        return Wanted::Refuse("405 Method Not Allowed", "This page changes nothing; use pdvm for orders.");
    }
    let path = request.path.unwrap_or_default();
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    if let Some(file) = FILES.iter().find(|file| file.path == path) {
        return Wanted::File(file);
    }
    let Some(question) = path.strip_prefix("/api/").and_then(question) else {
        return Wanted::Refuse("404 Not Found", "There is /, and /api/status, nodes, jobs, sessions and job/NUMBER.");
    };
    let given = field("authorization").and_then(|value| value.strip_prefix("Bearer "));
    match given.is_some_and(|given| is_same(given, token)) {
        true => Wanted::Ask(question),
        false => Wanted::Refuse("401 Unauthorized", "Open the address that pdvm web has printed: it has the token."),
    }
}

fn question(path: &str) -> Option<Question> {
    Some(match path {
        "status" => Question::Status,
        "nodes" => Question::Nodes,
        "jobs" => Question::Jobs,
        "sessions" => Question::Sessions,
        _ => Question::Job(JobId(path.strip_prefix("job/")?.parse().ok()?)),
    })
}

/// True for a name of this machine, with any port: the page may be seen through a tunnel of ssh.
fn is_here(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, port)| match port.bytes().all(|b| b.is_ascii_digit()) {
        true => name,
        false => host,
    });
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

/// Compares two texts in a time that does not say how much of them is the same.
fn is_same(given: &str, token: &str) -> bool {
    let differ = given.bytes().zip(token.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    given.len() == token.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn asked(line: &str, fields: &str) -> Wanted {
        judge(format!("{line} HTTP/1.1\r\n{fields}\r\n").as_bytes(), TOKEN)
    }

    fn refused(wanted: &Wanted) -> &str {
        match wanted {
            Wanted::Refuse(status, _) => status.split(' ').next().unwrap_or_default(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_page_needs_no_token_and_what_is_about_the_dvm_does() {
        let here = "Host: 127.0.0.1:8080\r\n";
        let with = |token: &str| format!("{here}Authorization: Bearer {token}\r\n");
        for path in ["/", "/style.css", "/app.js", "/?x=1"] {
            assert!(matches!(asked(&format!("GET {path}"), here), Wanted::File(_)), "{path}");
        }
        let questions = ["status", "nodes", "jobs", "sessions", "job/7"];
        let answers = questions.map(|what| asked(&format!("GET /api/{what}"), &with(TOKEN)));
        let wanted = [Question::Status, Question::Nodes, Question::Jobs, Question::Sessions, Question::Job(JobId(7))];
        assert_eq!(answers, wanted.map(Wanted::Ask));
        for token in ["", "0", "0123456789abcdeX", "0123456789abcdef0"] {
            assert_eq!(refused(&asked("GET /api/status", &with(token))), "401", "{token}");
        }
        assert_eq!(refused(&asked("GET /api/status", here)), "401");
    }

    #[test]
    fn other_hosts_methods_and_paths_are_refused() {
        let of = |host: &str| asked("GET /", &format!("Host: {host}\r\n"));
        for host in ["127.0.0.1", "localhost:1", "[::1]:99", "localhost"] {
            assert!(matches!(of(host), Wanted::File(_)), "{host}");
        }
        for host in ["example.org", "127.0.0.1.example.org:80", "localhost:x", "", "[::1]x"] {
            assert_eq!(refused(&of(host)), "421", "{host}");
        }
        assert_eq!(refused(&asked("GET /", "")), "421");
        let here = "Host: localhost\r\n";
        assert_eq!(refused(&asked("POST /", here)), "405");
        for path in ["/api/", "/api/job/", "/api/job/-1", "/api/job/99999999999", "/app", "/../etc/passwd"] {
            assert_eq!(refused(&asked(&format!("GET {path}"), here)), "404", "{path}");
        }
        for head in ["", "GET", "GET / HTTP/1.1\r\nHost: localhost\r\n", "\u{0}\r\n\r\n"] {
            assert_eq!(refused(&judge(head.as_bytes(), TOKEN)), "400", "{head:?}");
        }
    }

    /// The page has no address of another machine, and reads no text as HTML.
    #[test]
    fn the_page_is_whole_and_reads_no_text_as_html() {
        for file in &FILES {
            for word in ["http:", "https:", "innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "document.write"] {
                let allowed = file.text.replace("http://www.w3.org/2000/svg", "");
                assert!(!allowed.contains(word), "{} has {word}", file.path);
            }
        }
    }
}
