#include "data/load/persons.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "comm/scatter_keys.hpp"
#include "core/errors.hpp"
#include "core/secrecy.hpp"
#include "data/load/row_bytes.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/memory.hpp"
#include "data/records/packed.hpp"

namespace dpmpi {
namespace {

/// Who is who behind a key: a block of a cipher's stream for every tag.
class KeyedTags {
 public:
  explicit KeyedTags(const SecretKey& key) : persons_(key.derive("person")), nobody_(key.derive("empty slot")) {}
  PersonTag person(const PersonTag& tag) { return block(persons_, tag); }
  PersonTag nobody(std::uint64_t i) { return block(nobody_, {i, 0}); }

 private:
  static PersonTag block(SecretStream& stream, const PersonTag& tag) {
    std::array<std::uint64_t, 2> words{};
    stream.words(tag.high, static_cast<std::uint32_t>(tag.low), (tag.low >> 32) * 8, words);
    return {words[0], words[1]};
  }
  SecretStream persons_, nobody_;
};

/// Of every site of which this rank owns blocks a key of its own, in their order. Collective.
std::vector<SecretKey> own_keys(const Communicator& comm, const Ownership& owners, std::size_t sites,
                                const std::function<SecretKey(std::size_t site)>& key_of_site) {
  const std::uint32_t per_site = owners.first.back() / static_cast<std::uint32_t>(sites);
  std::vector<std::vector<SecretKey>> keys(comm.is_root() ? static_cast<std::size_t>(comm.size()) : 0);
  for (int r = 0; r < static_cast<int>(keys.size()); ++r)
    for (std::uint32_t s = owners.begin(r) / per_site; s * per_site < owners.end(r); ++s)
      keys[static_cast<std::size_t>(r)].push_back(key_of_site(s));
  return scatter_keys(comm, keys);
}

/// A key that a group's ranks share for once. Collective.
SecretKey passing_key(const Communicator& comm) {
  std::array<std::uint8_t, 32> bytes{};
  if (comm.is_root()) std::ranges::copy(SecretKey::from_system().bytes(), bytes.begin());
  comm.broadcast(std::span<std::uint8_t>(bytes));
  SecretKey shared = SecretKey::from_bytes(bytes);
  wipe(bytes);
  return shared;
}

/// A site's blocks first .. last - 1, and the ranks that own them.
struct Site {
  const Communicator& comm;
  const Ownership& owners;
  int first_rank;  ///< of all ranks
  std::uint32_t first, last;
  const std::string& name;
};

/// Calls visit(site) for one site after the other on the ranks that own its blocks; what one of them throws is
/// thrown on all in the end. Collective.
template <class Visit>
void for_each_site(const RecordsOfPersons& records, Visit&& visit) {
  const auto sites = static_cast<std::uint32_t>(records.sites.size());
  const std::uint32_t per_site = records.owners.first.back() / sites;
  std::exception_ptr problem;
  for (std::uint32_t s = 0; s < sites; ++s) {
    const std::uint32_t first = s * per_site, last = first + per_site;
    const int rank = records.comm.rank();
    const bool owner = sites == 1 || (records.owners.begin(rank) < last && records.owners.end(rank) > first);
    const Communicator ranks = sites == 1 ? records.comm : records.comm.split(owner ? 0 : -1);
    if (!owner) continue;
    const int first_rank = sites == 1 ? 0 : records.owners.owner(first);
    try {
      visit(Site{ranks, records.owners, first_rank, first, last, records.sites[s]});
    } catch (const Error&) {
      problem = std::current_exception();
    }
  }
  throw_on_all_ranks(records.comm, [&] {
    if (problem) std::rethrow_exception(problem);
  });
}

template <class Blocks>
auto blocks_of(Blocks& blocks, const Site& site) {
  const auto in_site = [&](const Block& block) { return block.id >= site.first && block.id < site.last; };
  const auto begin = std::ranges::find_if(blocks, in_site);
  return std::span(begin, std::find_if_not(begin, blocks.end(), in_site));
}

/// The persons of these blocks, each once, ascending.
std::vector<PersonTag> persons_in(std::span<const Block> blocks) {
  std::vector<PersonTag> persons;
  for (const Block& block : blocks)
    for (const PersonTag& tag : block.records.person)
      if (persons.empty() || persons.back() != tag) persons.push_back(tag);
  std::ranges::sort(persons);
  persons.erase(std::unique(persons.begin(), persons.end()), persons.end());
  return persons;
}

std::vector<PersonTag> behind_key(const std::vector<PersonTag>& persons, KeyedTags& keyed) {
  std::vector<PersonTag> tags;
  tags.reserve(persons.size());
  for (const PersonTag& person : persons) tags.push_back(keyed.person(person));
  return tags;
}

/// Those of all ranks, each once, ascending.
std::vector<PersonTag> merged(const std::vector<std::vector<PersonTag>>& lists) {
  std::vector<PersonTag> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// A site's persons and their slots.
class Slots {
 public:
  /// The root numbers all tags by their keyed values, those of empty slots among them. Collective.
  Slots(const Site& site, std::span<const Block> blocks, const BlockLayout& layout, KeyedTags keyed)
      : persons_(persons_in(blocks)) {
    const std::vector<PersonTag> mine = behind_key(persons_, keyed);
    const auto lists = gather_lists(site.comm, mine);
    std::vector<std::vector<std::uint64_t>> numbers;
    throw_on_all_ranks(site.comm, [&] {
      if (site.comm.is_root()) numbers = number(lists, layout, site, keyed);
    });
    slots_ = scatter_lists(site.comm, numbers);
  }

  std::uint64_t of(const PersonTag& person) const {
    const auto at = std::ranges::lower_bound(persons_, person);
    return slots_[static_cast<std::size_t>(at - persons_.begin())];
  }

 private:
  static std::vector<std::vector<std::uint64_t>> number(const std::vector<std::vector<PersonTag>>& lists,
                                                        const BlockLayout& layout, const Site& site,
                                                        KeyedTags& keyed) {
    std::vector<PersonTag> all = merged(lists);
    const std::uint64_t first = layout.begin(site.first), slots = layout.begin(site.last) - first;
    if (all.size() > slots)
      throw DataError(
          fmt::format("{}: has more persons than the {} that are declared (data.records or "
                      "data.shard_records)",
                      site.name, slots));
    check_memory(2 * slots * sizeof(PersonTag), available_memory(),
                 fmt::format("{}: tags of {} slots for persons", site.name, slots));
    all.reserve(slots);
    for (std::uint64_t i = 0; all.size() < slots; ++i) all.push_back(keyed.nobody(i));
    std::ranges::sort(all);
    std::vector<std::vector<std::uint64_t>> numbers;
    for (const auto& list : lists) {
      auto& own = numbers.emplace_back();
      for (const PersonTag& tag : list)
        own.push_back(first + static_cast<std::uint64_t>(std::ranges::lower_bound(all, tag) - all.begin()));
    }
    return numbers;
  }

  std::vector<PersonTag> persons_;
  std::vector<std::uint64_t> slots_;
};

/// The layout of as many units that have `slots` slots each.
BlockLayout layout_of_units(const BlockLayout& layout, std::uint64_t slots) {
  if (slots == 1) return layout;
  BlockLayout units{layout.records / slots, layout.blocks};
  for (std::uint32_t b = 0; b <= layout.blocks; ++b) {
    verify(layout.begin(b) % slots == 0, "the slots of a unit are in one block");
    units.cuts.push_back(layout.begin(b) / slots);
  }
  return units;
}

/// A record on its way: whose it is, and where it stood.
struct Arrival {
  std::uint64_t slot = 0, index = 0;
};

/// One site's records on their way from the ranks that read them to those that own their persons.
class Move {
 public:
  Move(const Site& site, const RecordsOfPersons& records, std::span<Block> from, const BlockLayout& layout,
       const SecretKey& key, RowsOfPersons rows)
      : site_(site),
        storage_(records.storage),
        features_(records.features),
        bias_(records.bias),
        from_(from),
        layout_(layout),
        slots_(site, from, layout, KeyedTags(key)),
        choice_(key.derive("records of a person")),
        rows_(rows) {}

  std::vector<Block> run() {
    announce();
    allocate();
    while (site_.comm.any(block_ < from_.size())) move_piece();
    std::vector<Block> blocks;
    for (Target& target : targets_)
      blocks.push_back({target.id, rows_.slots * layout_.begin(target.id), std::move(target.records)});
    return blocks;
  }

 private:
  static constexpr std::uint32_t dropped = std::numeric_limits<std::uint32_t>::max();
  struct Target {
    std::uint32_t id = 0;
    Records records = {};
  };
  struct Place {
    std::uint32_t target = 0, row = dropped;
  };

  std::size_t ranks() const { return static_cast<std::size_t>(site_.comm.size()); }
  std::uint32_t block_of(std::uint64_t slot) const {
    std::uint32_t low = site_.first, high = site_.last;
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      (layout_.begin(middle) <= slot ? low : high) = middle;
    }
    return low;
  }
  std::size_t owner_of(std::uint64_t slot) const {
    return static_cast<std::size_t>(site_.owners.owner(block_of(slot)) - site_.first_rank);
  }
  /// Calls visit(row, slot) for those of the rows [first, end) of a block that are no empty slots.
  template <class Visit>
  void for_each_record(const Block& block, std::size_t first, std::size_t end, Visit&& visit) const {
    const Records& r = block.records;
    std::uint64_t slot = 0;
    for (std::size_t i = first; i < end; ++i) {
      if (i == first || r.person[i] != r.person[i - 1]) slot = slots_.of(r.person[i]);
      if (!std::isnan(r.label[i])) visit(i, slot);
    }
  }

  /// Every rank learns which records come, from whom and in which order, and how long their rows are if they are
  /// sparse.
  void announce() {
    std::vector<std::vector<Arrival>> leaving(ranks());
    std::vector<std::vector<std::uint32_t>> lengths(ranks());
    for (const Block& block : from_)
      for_each_record(block, 0, block.records.person.size(), [&](std::size_t i, std::uint64_t slot) {
        const std::size_t owner = owner_of(slot);
        leaving[owner].push_back({slot, block.first_index + i});
        if (storage_ == Storage::sparse_f32) lengths[owner].push_back(entries_of(block.records, i));
      });
    arrivals_ = exchanged(std::move(leaving));
    if (storage_ == Storage::sparse_f32) entries_ = exchanged(std::move(lengths));
  }

  /// List number r goes to rank r; those that arrive, by the rank that they come from. Collective.
  template <class T>
  std::vector<std::vector<T>> exchanged(std::vector<std::vector<T>> lists) const {
    std::vector<std::string> parts;
    for (auto& list : lists) parts.push_back(packed(list)), list = {};
    std::vector<std::vector<T>> arrived;
    for (const std::string& bytes : site_.comm.exchange(std::move(parts))) arrived.push_back(unpacked<T>(bytes));
    return arrived;
  }

  /// Of a person's records, ascending, those that are kept.
  std::vector<bool> kept(std::uint64_t slot, std::size_t count) {
    std::vector<bool> keep(count, true);
    const std::uint64_t most = rows_.most;
    if (most == 0 || count <= most) return keep;
    keep.assign(count, false);
    SecretReader reader(choice_, slot, 0);
    for (std::uint64_t j = count - most; j < count; ++j) {  // Floyd's algorithm
      const std::uint64_t candidate = reader.below(j + 1);
      keep[keep[candidate] ? j : candidate] = true;
    }
    return keep;
  }

  /// Rows for all records that come, person by person, and where each of them goes.
  void allocate() {
    struct Coming {
      Arrival what;
      std::uint32_t from, number;
    };
    std::vector<Coming> all;
    for (std::size_t r = 0; r < arrivals_.size(); ++r)
      for (std::size_t i = 0; i < arrivals_[r].size(); ++i)
        all.push_back({arrivals_[r][i], static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(i)});
    std::ranges::sort(all, [](const Coming& a, const Coming& b) {
      return std::pair(a.what.slot, a.what.index) < std::pair(b.what.slot, b.what.index);
    });
    for (const auto& list : arrivals_) places_.emplace_back(list.size());
    next_.assign(ranks(), 0);

    const int rank = site_.first_rank + site_.comm.rank();
    auto at = all.begin();
    for (std::uint32_t b = std::max(site_.first, site_.owners.begin(rank));
         b < std::min(site_.last, site_.owners.end(rank)); ++b) {
      Target& target = targets_.emplace_back();
      target.id = b;
      std::vector<std::uint32_t> begin{0};
      std::vector<std::uint32_t> entries;  // of each sparse row
      std::uint64_t rows = 0;
      for (std::uint64_t slot = layout_.begin(b); slot < layout_.begin(b + 1); ++slot) {
        const auto end = std::find_if(at, all.end(), [&](const Coming& c) { return c.what.slot != slot; });
        const std::vector<bool> keep = kept(slot, static_cast<std::size_t>(end - at));
        for (std::size_t i = 0; i < keep.size(); ++i, ++at) {
          verify(rows < dropped - rows_.slots, "a block has fewer than 2^32 records");
          if (!keep[i]) continue;
          places_[at->from][at->number] = {static_cast<std::uint32_t>(targets_.size() - 1),
                                           static_cast<std::uint32_t>(rows++)};
          if (!entries_.empty()) entries.resize(rows), entries.back() = entries_[at->from][at->number];
        }
        if (rows_.slots > 1) rows = (slot + 1 - layout_.begin(b)) * rows_.slots;  // the others stay empty
        begin.push_back(static_cast<std::uint32_t>(rows));
      }
      target.records = empty_rows(storage_, features_, bias_, rows, entries);
      if (rows_.slots == 1) target.records.person_begin = std::move(begin);
    }
    arrivals_.clear(), entries_.clear();
  }

  /// Some rows of every rank go to their owners, so that little is on its way at once; a block that has gone is
  /// given up.
  void move_piece() {
    constexpr std::size_t piece_bytes = std::size_t{1} << 24;
    std::vector<std::string> parts(ranks());
    if (block_ < from_.size()) {
      Block& block = from_[block_];
      const Records& r = block.records;
      verify(r.storage == storage_ && r.features == features_, "all records of a site are stored alike");
      const std::size_t end =
          std::min(r.person.size(), row_ + std::max<std::size_t>(1, piece_bytes / mean_row_bytes(r)));
      for_each_record(block, row_, end,
                      [&](std::size_t i, std::uint64_t slot) { append_row(r, i, parts[owner_of(slot)]); });
      row_ = end;
      if (row_ == r.person.size()) block.records = {}, row_ = 0, ++block_;
    }
    const auto arrived = site_.comm.exchange(std::move(parts));
    for (std::size_t r = 0; r < arrived.size(); ++r) take(r, arrived[r]);
  }

  void take(std::size_t from, const std::string& bytes) {
    RowBytes rows(bytes, storage_, features_);
    while (rows.next()) {
      const Place place = places_[from].at(next_[from]++);
      if (place.row != dropped) rows.put(targets_[place.target].records, place.row);
    }
  }

  const Site& site_;
  Storage storage_;
  std::size_t features_;
  float bias_;
  std::span<Block> from_;
  const BlockLayout& layout_;
  Slots slots_;
  SecretStream choice_;
  RowsOfPersons rows_;
  std::size_t block_ = 0, row_ = 0;                  // the next one to go
  std::vector<std::vector<Arrival>> arrivals_;       // by the rank that they come from
  std::vector<std::vector<std::uint32_t>> entries_;  // of their rows, likewise; none of dense ones
  std::vector<std::vector<Place>> places_;           // likewise
  std::vector<std::size_t> next_;                    // number of its next one
  std::vector<Target> targets_;
};

}  // namespace

std::vector<std::uint64_t> count_persons(const RecordsOfPersons& records) {
  std::vector<std::int64_t> persons(records.sites.size(), 0);
  for_each_site(records, [&](const Site& site) {
    KeyedTags keyed(passing_key(site.comm));
    const auto lists = gather_lists(site.comm, behind_key(persons_in(blocks_of(records.blocks, site)), keyed));
    if (site.comm.is_root())
      persons[site.first / (site.last - site.first)] = static_cast<std::int64_t>(merged(lists).size());
  });
  records.comm.sum(persons);
  return {persons.begin(), persons.end()};
}

std::vector<Block> bring_together(RecordsOfPersons records, const BlockLayout& layout,
                                  const std::function<SecretKey(std::size_t site)>& key_of_site,
                                  RowsOfPersons rows) {
  const BlockLayout persons = layout_of_units(layout, rows.slots);
  const std::vector<SecretKey> keys = own_keys(records.comm, records.owners, records.sites.size(), key_of_site);
  std::vector<Block> blocks;
  std::size_t next_key = 0;
  for_each_site(records, [&](const Site& site) {
    const SecretKey& own = keys.at(next_key++);
    for (Block& block : Move(site, records, blocks_of(records.blocks, site), persons, own, rows).run())
      blocks.push_back(std::move(block));
  });
  return blocks;
}

}  // namespace dpmpi
