//! `--display`.

use std::path::PathBuf;

use ferrite_types::{Display, PictureFormat};

use super::ask::{Asked, Word};
use super::error::UsageError;

/// The display directives that were read so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct DisplayAsk {
    flags: [Asked<bool>; FLAGS.len()],
    topo: Asked<Vec<String>>,
    cpus: Asked<Vec<String>>,
    svg: Asked<String>,
    html: Asked<String>,
    /// True when the line has the option; a default does not apply then.
    pub(crate) said: bool,
}

/// A picture of the job map, and the file that it goes to.
pub type Picture = (PictureFormat, PathBuf);

/// Selects the field of a boolean directive.
type Field = fn(&mut Display) -> &mut bool;

/// The boolean directives.
const FLAGS: [(&str, Field); 6] = [
    ("map", |d| &mut d.map),
    ("map-devel", |d| &mut d.map_devel),
    ("allocation", |d| &mut d.allocation),
    ("bind", |d| &mut d.bind),
    ("parseable", |d| &mut d.parseable),
    ("physical", |d| &mut d.physical),
];

#[derive(Clone, Copy)]
enum Show {
    Flag(usize),
    Topo,
    Cpus,
    Svg,
    Html,
}

const DISPLAY: &[(&str, Show)] = &[
    ("map", Show::Flag(0)),
    ("map-devel", Show::Flag(1)),
    ("allocation", Show::Flag(2)),
    ("bind", Show::Flag(3)),
    ("bindings", Show::Flag(3)),
    ("topo", Show::Topo),
    ("cpus", Show::Cpus),
    ("parseable", Show::Flag(4)),
    ("parsable", Show::Flag(4)),
    ("physical", Show::Flag(5)),
    ("svg", Show::Svg),
    ("html", Show::Html),
];

impl DisplayAsk {
    /// Adds the list of one option.
    pub(crate) fn add(&mut self, option: &str, list: &str) -> Result<(), UsageError> {
        self.said = true;
        // A qualifier follows a colon, and means the same as a word of the list; so both separators are treated alike.
        for text in list.split([',', ':']) {
            let (word, what) = Word::parse(option, text, DISPLAY, |_| true)?;
            match what {
                Show::Flag(i) => self.flags[i].say(option, FLAGS[i].0, word.boolean()?)?,
                Show::Topo => self.topo.say(option, word.name, nodes(&word)?)?,
                Show::Cpus => self.cpus.say(option, word.name, nodes(&word)?)?,
                Show::Svg => self.svg.say(option, word.name, word.text("FILE")?)?,
                Show::Html => self.html.say(option, word.name, word.text("FILE")?)?,
            }
        }
        Ok(())
    }

    /// Returns the items to show, and the files of pictures.
    pub(crate) fn finish(self) -> (Display, Vec<Picture>) {
        let files = [(PictureFormat::Svg, self.svg.0), (PictureFormat::Html, self.html.0)];
        let pictures: Vec<Picture> =
            files.into_iter().filter_map(|(format, file)| file.map(|file| (format, PathBuf::from(file)))).collect();
        let mut display = Display {
            topo: self.topo.0,
            cpus: self.cpus.0,
            pictures: pictures.iter().map(|(format, _)| *format).collect(),
            ..Display::default()
        };
        for ((_, field), asked) in FLAGS.iter().zip(&self.flags) {
            *field(&mut display) = asked.0.unwrap_or(false);
        }
        (display, pictures)
    }
}

/// `topo=n1;n2`; without a value: all nodes.
fn nodes(word: &Word<'_>) -> Result<Vec<String>, UsageError> {
    let Some(list) = word.value else { return Ok(Vec::new()) };
    let names: Vec<String> = list.split(';').map(|name| name.trim().to_owned()).collect();
    match names.iter().any(String::is_empty) {
        false => Ok(names),
        true => Err(UsageError::value(
            word.option,
            format!("{}={list} lacks the name of a node", word.name),
            format!("Write it as '{0}=n1;n2', or as {0} for all nodes of the job.", word.name),
        )),
    }
}
