//! A node's side of a transfer: checks what comes, in which order, and when it is all there.

use ferrite_types::PreloadEntry;
use ferrite_wire::FilePiece;

use super::Place;

/// The files of one job on their way to this node.
#[derive(Debug)]
pub(crate) struct Receiving {
    names: Vec<String>,
    sizes: Vec<u64>,
    next: Place,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Pieces are to come.
    Open,
    /// All pieces came; the driver puts the last things in their places.
    Finishing,
    /// The head knows how it went.
    Reported,
}

impl Receiving {
    /// Files of a job.
    ///
    /// # Errors
    /// The first entry that could lie outside of the job's files, with the reason.
    pub(crate) fn of(entries: &[PreloadEntry]) -> Result<Receiving, String> {
        for entry in entries {
            entry.check().map_err(|why| format!("{}: {why}", entry.name))?;
        }
        let sizes: Vec<u64> = entries.iter().map(PreloadEntry::size).collect();
        let next = Place::first(&sizes);
        let names = entries.iter().map(|entry| entry.name.clone()).collect();
        Ok(Receiving { names, sizes, next, state: State::Open })
    }

    /// Takes a piece, which is then to be written. `None` = it is dropped, because the transfer has failed here.
    /// See spec L73.
    ///
    /// # Errors
    /// The file, and what is wrong with the piece.
    pub(crate) fn on_piece(&mut self, piece: &FilePiece) -> Option<Result<(), String>> {
        if self.state == State::Reported {
            return None;
        }
        Some(self.take(piece))
    }

    fn take(&mut self, piece: &FilePiece) -> Result<(), String> {
        let place = Place { entry: piece.entry as usize, offset: piece.offset };
        let name = self.names.get(place.entry).map_or("a file", String::as_str);
        if self.state != State::Open || place != self.next {
            return Err(format!("{name}: a piece is missing before byte {}", piece.offset));
        }
        if piece.data.len() as u64 != place.piece(&self.sizes) {
            return Err(format!("{name}: its size is not the one that was announced"));
        }
        if !piece.is_intact() {
            return Err(format!("{name}: the checksum of the bytes from {} on is wrong", piece.offset));
        }
        self.next = place.after(piece.data.len() as u64, &self.sizes);
        Ok(())
    }

    /// True once, when all pieces are there.
    pub(crate) fn is_at_end(&mut self) -> bool {
        let at_end = self.state == State::Open && self.next.entry >= self.sizes.len();
        if at_end {
            self.state = State::Finishing;
        }
        at_end
    }

    /// True for the first report to the head; there is no other.
    pub(crate) fn report(&mut self) -> bool {
        std::mem::replace(&mut self.state, State::Reported) != State::Reported
    }

    /// The name of a file.
    pub(crate) fn name(&self, entry: u32) -> String {
        self.names.get(entry as usize).cloned().unwrap_or_default()
    }
}
