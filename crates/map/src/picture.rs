//! Pictures of a job map: nodes with what they are made of, and who is bound where. One model (`scene`), drawn as an
//! image (`svg`), as a page that shows more about what is pointed at (`html`), and as a line for each node
//! (`lines`). Called by the head, for `--display map:svg=FILE` and for `pdvm`.
//!
//! Equal nodes of a large job are drawn once, so that a picture stays small enough to be looked at whatever the size of
//! the job. Nothing here depends on anything but the map and the nodes: the same map gives the same picture.

mod html;
mod names;
mod scene;
mod svg;
mod text;
mod tree;

use ferrite_types::{JobMap, NodeRecord};

use scene::Scene;

/// The subject of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The job's namespace.
    pub job: &'a str,
    /// The program of each app.
    pub programs: &'a [String],
    /// The job's map.
    pub map: &'a JobMap,
    /// The pool.
    pub nodes: &'a [NodeRecord],
    /// No process is started: the picture says so.
    pub not_launched: bool,
}

/// One image, readable on a light and on a dark background; at most a few megabytes.
#[must_use]
pub fn svg(subject: &Subject<'_>) -> String {
    svg::document(&Scene::of(subject))
}

/// A page that needs nothing from elsewhere: the image, more about what is pointed at, and the ranks as a table.
#[must_use]
pub fn html(subject: &Subject<'_>) -> String {
    html::document(&Scene::of(subject))
}

/// A line for each node, or for each kind of nodes when there are more than `most`:
/// `n0  [0 1 . .] [2 3 . .]` are two packages, and the ranks at their cores.
#[must_use]
pub fn lines(subject: &Subject<'_>, most: usize) -> Vec<String> {
    text::lines(&Scene::folded(subject, most))
}
