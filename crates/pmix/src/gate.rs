//! The gate of a front door: decides which callers may pass to the library. A caller's first message states its
//! identity. The library reads that message without checking its lengths, on its one thread, and waits for all of it:
//! so it is read here first, whole and with bounds. Pure.
//!
//! The layout is that of libpmix 4.2 to 7.0 (README.md). A header of 16 bytes: two marks, the length. Then, with texts
//! that a NUL ends and numbers in network order: the security module, the credential, the kind of caller, its name, the
//! releases and formats that it speaks, and for tools a list of attributes in the library's packed form.

use crate::Proc;

/// Size limit of first messages (bytes): they contain a name, a rank and a few words.
const MAX_MESSAGE: usize = 16 * 1024;
/// The header's first two fields in a first message.
const START: [u8; 8] = [0xff; 8];
/// Size of the header (bytes): two marks, and the length in eight bytes.
const HEADER: usize = 16;
/// Size of the credential (bytes): user and group, as the caller states them.
const CREDENTIAL: usize = 8;
/// The longest name of a namespace.
const MAX_NAMESPACE: usize = 255;
/// The longest key of an attribute.
const MAX_KEY: usize = 511;
/// More attributes than any tool sends.
const MAX_ATTRIBUTES: u64 = 256;

/// The verdict on the bytes that a new connection has sent so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstMessage {
    /// The message is valid so far. It, or the part that contains its length, has this many bytes.
    Incomplete(usize),
    /// A whole first message.
    Complete(Greeting),
    /// The caller is no PMIx client: close the connection. The text names the error, for the log.
    Garbage(&'static str),
}

/// The identity that a caller claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// The claimed role and name.
    pub claim: Claim,
    /// The claimed user, which is unchecked: ask the kernel.
    pub uid: u32,
}

/// The role that a caller claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// This process of a job.
    Client(Proc),
    /// A tool, with the name that it has already.
    Tool(Option<Proc>),
}

impl FirstMessage {
    /// Returns the first message of a process of a job, as a client of release 4.2 writes it.
    #[must_use]
    pub fn of_client(proc: &Proc, (uid, gid): (u32, u32)) -> Vec<u8> {
        let mut body = b"native\0".to_vec();
        body.extend((CREDENTIAL as u32).to_be_bytes());
        body.extend(uid.to_ne_bytes());
        body.extend(gid.to_ne_bytes());
        // The kind of caller, then its name.
        body.push(0);
        body.extend(proc.nspace.bytes());
        body.push(0);
        body.extend(proc.rank.to_be_bytes());
        body.extend(b"4.2.2\0v41\0\x01hash\0");
        [&START[..], &(body.len() as u64).to_ne_bytes(), &body].concat()
    }

    /// Judges all received bytes.
    pub fn judge(bytes: &[u8]) -> Self {
        let start = &bytes[..bytes.len().min(START.len())];
        if !START.starts_with(start) {
            return Self::Garbage("it does not begin as a PMIx message does");
        }
        let Some(len) = bytes.get(8..HEADER).and_then(|len| len.try_into().ok()).map(u64::from_ne_bytes) else {
            return Self::Incomplete(HEADER);
        };
        let Some(len) = usize::try_from(len).ok().filter(|len| (1..=MAX_MESSAGE).contains(len)) else {
            return Self::Garbage("its length is none of a first message");
        };
        match bytes.get(HEADER..HEADER + len) {
            None => Self::Incomplete(HEADER + len),
            Some(_) if bytes.len() > HEADER + len => Self::Garbage("more follows it before it was answered"),
            Some(message) => match greeting(&mut Reader(message)) {
                Ok(greeting) => Self::Complete(greeting),
                Err(Malformed(what)) => Self::Garbage(what),
            },
        }
    }
}

/// The error in a message.
struct Malformed(&'static str);

fn greeting(message: &mut Reader) -> Result<Greeting, Malformed> {
    if message.text(16)? != b"native" {
        return Err(Malformed("its security module is not native"));
    }
    if message.number()? as usize != CREDENTIAL {
        return Err(Malformed("its credential is none of the native module"));
    }
    let uid = u32::from_ne_bytes(message.array()?);
    message.array::<4>()?;
    let kind = message.byte()?;
    let claim = match kind {
        0 => Claim::Client(message.proc()?),
        // This is a tool or a launcher without a name, which states user and group once more.
        3 | 6 => {
            message.array::<8>()?;
            Claim::Tool(None)
        }
        // This is one with a name: of its own choice, or of the process that it was started as.
        4 | 5 | 7 | 8 => {
            message.array::<8>()?;
            Claim::Tool(Some(message.proc()?))
        }
        _ => return Err(Malformed("it is of a kind of caller that nobody serves")),
    };
    versions(message)?;
    attributes(message)?;
    Ok(Greeting { claim, uid })
}

/// Reads the release of the caller, its packing format and its storage format.
fn versions(message: &mut Reader) -> Result<(), Malformed> {
    let release = message.text(64)?;
    let starts_well = release.strip_prefix(b"v").unwrap_or(release).first().is_some_and(u8::is_ascii_digit);
    if !starts_well
        || !release.contains(&b'.')
        || !release.iter().all(|b| b.is_ascii_alphanumeric() || b".-+".contains(b))
    {
        return Err(Malformed("its release is no release"));
    }
    let is_name = |name: &[u8]| !name.is_empty() && name.iter().all(|b| b.is_ascii_alphanumeric() || b"_,".contains(b));
    if !is_name(message.text(64)?) {
        return Err(Malformed("its format has no name"));
    }
    if message.byte()? > 2 {
        return Err(Malformed("its buffers are of no known type"));
    }
    if !is_name(message.text(64)?) {
        return Err(Malformed("its store has no name"));
    }
    Ok(())
}

/// Reads a tool's attributes. Clients send none, but 4.2 sends one byte more than it has filled.
fn attributes(message: &mut Reader) -> Result<(), Malformed> {
    if matches!(message.0, [] | [0]) {
        return Ok(());
    }
    if message.varint()? != zigzag(1) {
        return Err(Malformed("its list of attributes has no one length"));
    }
    let count = message.varint()?;
    if count > MAX_ATTRIBUTES || message.varint()? != zigzag(count) {
        return Err(Malformed("its list of attributes has no possible length"));
    }
    for _ in 0..count {
        let key = message.packed_text(MAX_KEY)?;
        if key.is_empty() {
            return Err(Malformed("an attribute has no key"));
        }
        // Its flags.
        message.varint()?;
        let kind = message.varint()?;
        value(message, kind)?;
    }
    match message.0 {
        [] | [0] => Ok(()),
        _ => Err(Malformed("something follows its attributes")),
    }
}

/// Reads a value of the types that describe tools. No tool sends other types here, which contain arrays and objects.
fn value(message: &mut Reader, kind: u64) -> Result<(), Malformed> {
    match kind {
        // bool, byte, int8, uint8
        1 | 2 | 7 | 12 => message.byte().map(drop),
        // string; float and double travel as text
        3 | 16 | 17 => message.packed_text(MAX_MESSAGE).map(drop),
        // size, int, int16 to int64, uint, uint16 to uint64, status, rank
        4 | 6 | 8..=11 | 13..=15 | 20 | 40 => message.varint().map(drop),
        // pid, as a uint32 that names its type
        5 => match message.varint()? {
            14 => message.varint().map(drop),
            _ => Err(Malformed("a process id is of another type")),
        },
        // proc
        22 => {
            message.packed_text(MAX_NAMESPACE)?;
            message.varint().map(drop)
        }
        _ => Err(Malformed("an attribute is of a type that no tool sends")),
    }
}

/// Encodes a nonnegative number as the library packs signed ones.
fn zigzag(number: u64) -> u64 {
    number << 1
}

/// The unread bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| Malformed("it ends too early"))
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    fn number(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    /// Reads text up to its NUL, which has to come within `max` bytes.
    fn text(&mut self, max: usize) -> Result<&'a [u8], Malformed> {
        let end = self.0.iter().take(max + 1).position(|b| *b == 0);
        let text = self.take(end.ok_or(Malformed("a text has no end"))?)?;
        self.byte()?;
        Ok(text)
    }

    fn proc(&mut self) -> Result<Proc, Malformed> {
        let nspace = self.text(MAX_NAMESPACE)?;
        let nspace = std::str::from_utf8(nspace).map_err(|_| Malformed("its namespace is no text"))?;
        if nspace.is_empty() {
            return Err(Malformed("its namespace is empty"));
        }
        let rank = self.number()?;
        Ok(Proc::new(nspace, rank))
    }

    /// Reads a number of seven bits a byte, the lowest first.
    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Malformed("a number has no end"))
    }

    /// Reads a text: its length with the NUL, then the text with exactly one NUL.
    fn packed_text(&mut self, max: usize) -> Result<&'a [u8], Malformed> {
        let len = self.varint()?;
        let len = usize::try_from(len / 2).ok().filter(|n| len % 2 == 0 && (1..=max + 1).contains(n));
        match self.take(len.ok_or(Malformed("a text has no possible length"))?)? {
            [text @ .., 0] if !text.contains(&0) => Ok(text),
            _ => Err(Malformed("a text does not end where it says")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(body: &[u8]) -> Vec<u8> {
        [&START[..], &(body.len() as u64).to_ne_bytes(), body].concat()
    }

    const HEAD: &[u8] = b"native\0\0\0\0\x08\0\0\0\0\0\0\0\0";
    const CLIENT: &[u8] = b"\0dvm@1\0\0\0\0\x02";
    const VERSIONS: &[u8] = b"4.2.2rc2\0v41\0\x01hash\0";

    /// As libpmix 4.2.2 sends it: with one byte more than there is to say.
    fn client() -> Vec<u8> {
        framed(&[HEAD, CLIENT, VERSIONS, b"\0"].concat())
    }

    /// As libpmix 5.0.11 sends it, for a tool without a name, with a value of each type that was seen.
    fn tool() -> Vec<u8> {
        let attributes: &[u8] = b"\x02\x08\x10\
            \x1cpmix.srvr.uri\0\0\x03\x12srv@0.0;\0\
            \x14pmix.ppid\0\0\x05\x0e\x84\xf3\x01\
            \x14pmix.ruid\0\0\x0e\0\
            \x1epmix.tool.rank\0\0\x28\x03\
            \x0ck.i64\0\0\x0a\xe0\xc5\x08\
            \x0ck.dbl\0\0\x11\x121.500000\0\
            \x0ek.proc\0\0\x16\x08abc\0\x04\
            \x0ek.bool\0\0\x01\x01";
        framed(&[HEAD, b"\x03\0\0\0\0\0\0\0\0", b"5.0.11rc1\0v41\0\x01hash\0", attributes].concat())
    }

    fn claim(bytes: &[u8]) -> Claim {
        match FirstMessage::judge(bytes) {
            FirstMessage::Complete(greeting) => greeting.claim,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_client_names_its_process() {
        assert_eq!(claim(&client()), Claim::Client(Proc::new("dvm@1", 2)));
        let exact = framed(&[HEAD, CLIENT, b"5.0.11rc1\0v41\0\x01hash\0"].concat());
        assert_eq!(claim(&exact), Claim::Client(Proc::new("dvm@1", 2)));
    }

    #[test]
    fn a_message_that_is_written_here_is_one_of_a_client() {
        let proc = Proc::new("dvm@1", 7);
        let greeting = Greeting { claim: Claim::Client(proc.clone()), uid: 1000 };
        assert_eq!(FirstMessage::judge(&FirstMessage::of_client(&proc, (1000, 100))), FirstMessage::Complete(greeting));
    }

    #[test]
    fn a_tool_comes_with_a_name_or_without() {
        assert_eq!(claim(&tool()), Claim::Tool(None));
        let named = [HEAD, b"\x04\0\0\0\0\0\0\0\0mytool\0\0\0\0\x03", VERSIONS, b"\0"].concat();
        assert_eq!(claim(&framed(&named)), Claim::Tool(Some(Proc::new("mytool", 3))));
    }

    #[test]
    fn the_stated_user_is_read() {
        let mut bytes = client();
        bytes[HEADER + 11..HEADER + 15].copy_from_slice(&1000u32.to_ne_bytes());
        assert!(matches!(FirstMessage::judge(&bytes), FirstMessage::Complete(Greeting { uid: 1000, .. })));
    }

    #[test]
    fn a_message_passes_when_its_last_byte_is_there() {
        for bytes in [client(), tool()] {
            for end in 0..bytes.len() {
                let needed = if end < HEADER { HEADER } else { bytes.len() };
                assert_eq!(FirstMessage::judge(&bytes[..end]), FirstMessage::Incomplete(needed), "{end}");
            }
            assert!(matches!(FirstMessage::judge(&bytes), FirstMessage::Complete(_)));
        }
    }

    fn is_garbage(bytes: &[u8]) -> bool {
        matches!(FirstMessage::judge(bytes), FirstMessage::Garbage(_))
    }

    #[test]
    fn garbage_is_known_by_its_first_byte_or_its_length() {
        assert!(is_garbage(b"G"));
        for len in [0, MAX_MESSAGE as u64 + 1, 1 << 40, u64::MAX] {
            assert!(is_garbage(&[&START[..], &len.to_ne_bytes()].concat()), "{len}");
        }
    }

    #[test]
    fn a_message_that_is_cut_inside_is_garbage() {
        for whole in [client(), tool()] {
            let body = &whole[HEADER..];
            // 4.2 sends a byte more; without it the message is whole as well.
            let least = body.len() - usize::from(body.ends_with(b"hash\0\0"));
            // A tool may come without attributes.
            let bare = body.windows(5).position(|w| w == b"hash\0").map_or(0, |at| at + 5);
            for end in (1..least).filter(|end| *end != bare) {
                assert!(is_garbage(&framed(&body[..end])), "{end}");
            }
        }
    }

    #[test]
    fn what_does_not_belong_there_is_garbage() {
        let with = |kind: &[u8], versions: &[u8], rest: &[u8]| framed(&[HEAD, kind, versions, rest].concat());
        assert!(is_garbage(&with(b"\0\0\0\0\0\x02", VERSIONS, b"")), "no namespace");
        assert!(is_garbage(&with(b"\x09dvm@1\0\0\0\0\x02", VERSIONS, b"")), "an unknown kind");
        assert!(is_garbage(&with(CLIENT, b"\0v41\0\x01hash\0", b"")), "no release");
        assert!(is_garbage(&with(CLIENT, b"4.2.2\0\0\x01hash\0", b"")), "no format");
        assert!(is_garbage(&with(CLIENT, b"4.2.2\0v41\0\x03hash\0", b"")), "an unknown type of buffer");
        assert!(is_garbage(&with(CLIENT, VERSIONS, b"\x02\x7f\xfe\x01")), "attributes that are not there");
        assert!(is_garbage(&with(CLIENT, VERSIONS, b"\x02\x01\x02\x04k\0\0\x27")), "an array");
        assert!(is_garbage(&[client(), b"x".to_vec()].concat()), "more than one message");
    }
}
