// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/api.h"
#include "../core/backend.h"
#include "../core/cf32.h"
#include "../core/range_doppler.h"
#include "../core/row_migration.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace gr {
namespace sar {
namespace kernel {

class azimuth_filter;
class pulse_compression;

/*!
 * \brief What happens to rows between the transforms along azimuth, in one go: from rows
 * of the azimuth spectrum into the frames of an azimuth_filter.
 */
class row_pass
{
public:
    virtual ~row_pass() = default;

    //! The centroid of migration and filter has changed. On CUDA this may wait.
    virtual void refresh() = 0;
    //! Does it serve frames as they are now? If not, the stages do it one by one.
    virtual bool serves() const = 0;
    //! Rows that go in are those of raw lines.
    virtual bool compresses() const = 0;
    //! Rows first_row .. first_row + count - 1, in the memory of the target; on CUDA the
    //! work is enqueued only.
    virtual void run(const cf32* rows, int first_row, int count) = 0;
};

struct frame_imager_params {
    range_doppler_params geometry; //!< with the acquisition
    window range_window;
    std::vector<cf32> replica; //!< of the pulse, for waveform::replica only
    doppler_band band;
    bool overlap = false; //!< lines are kept for the next frame
};

/*!
 * \brief Raw lines to an image: a whole chain of the Doppler domain with the fewest
 * passes over memory.
 *
 * The stages themselves, in another order: the azimuth transform comes first (it and
 * range compression act on different axes and commute), so that everything along range
 * happens on a few rows at a time while they are in the cache (the GPU's L2):
 * compression, migration, azimuth filter. A frame is read and written three times:
 * azimuth transform, rows, inverse transform. Same functions, so the image is that of the
 * chain but for rounding.
 *
 * Where raw lines have to be conjugated first (phase_sign +1) this does not commute with
 * the azimuth transform, and lines are compressed as they come. So they are on a GPU
 * where compressed lines have as many samples: they have to be put into the frame anyway,
 * and a kernel that transforms them on the way takes little more time than a copy.
 */
class SAR_KERNEL_API frame_imager
{
public:
    //! The stage between azimuth transform and azimuth filter, for that many rows at
    //! once.
    using migration_maker = std::function<std::unique_ptr<row_migration>(int max_batch)>;
    //! That stage and its neighbours in one; null where there is no such thing.
    //! \p compression is null where rows come compressed.
    using row_pass_maker =
        std::function<std::unique_ptr<row_pass>(const row_migration&,
                                                azimuth_filter&,
                                                const pulse_compression* compression)>;

    //! \throws std::invalid_argument naming parameter, value and expectation,
    //! std::runtime_error naming the bytes when there is no memory
    static std::unique_ptr<frame_imager> make(const frame_imager_params& params,
                                              const migration_maker& migration,
                                              const compute_target& target,
                                              const row_pass_maker& pass = nullptr);
    virtual ~frame_imager() = default;

    //! As of azimuth_filter: coefficients of the Doppler centroid.
    virtual void set_centroid(const std::vector<double>& coefficients_hz) = 0;

    // Pointers are in the memory of the target; on CUDA the work is enqueued only.

    //! Raw lines into lines first .. first + count - 1 of the frame.
    virtual void take(const cf32* lines, int first, int count) = 0;
    //! Form the image of the frame, of which lines 0 .. filled - 1 came.
    virtual void form(int filled) = 0;
    //! Image rows, as azimuth_filter::give().
    virtual void give(cf32* out, int first, int count) = 0;
    //! Begin a frame: the last \p kept lines of the one before are its first.
    virtual void next(int kept) = 0;

    virtual const range_doppler_plan& plan() const = 0;
    //! Do rows take one kernel, for the centroid as it is?
    virtual bool one_pass() const = 0;
    //! Memory that it holds, bytes.
    virtual std::size_t bytes() const = 0;
    //! Lines so far that held a value which is not finite. On CUDA this waits.
    virtual std::uint64_t bad_lines() const = 0;
};

} // namespace kernel
} // namespace sar
} // namespace gr
