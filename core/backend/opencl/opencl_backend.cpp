#include "core/backend/opencl/opencl_backend.h"

#include "core/backend/notes.h"
#include "core/backend/opencl/clblast.h"
#include "core/backend/opencl/head_run.h"
#include "core/backend/opencl/packing.h"
#include "core/backend/opencl/self_test.h"
#include "core/backend/opencl/weight_cache.h"
#include "core/tensor/errors.h"

#include <charconv>
#include <cstdio>
#include <map>

namespace headscope {

namespace opencl {

namespace {

constexpr int clblastRows = 256; // always so many at once: its choice of a kernel depends on the size

std::string memoryText(std::int64_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
    return text;
}

std::string factsText(const DeviceFacts& f) {
    return f.name + " (" + f.platform + ", driver " + f.driver + ", " + memoryText(f.memory) + ")";
}

// An eighth of the device's memory; a CPU's is the program's own.
std::size_t weightBytes(const DeviceFacts& f, const Options& options) {
    const std::int64_t most = std::int64_t{1} << (f.isCpu() ? 29 : 32);
    return static_cast<std::size_t>(options.weightBytes >= 0 ? options.weightBytes : std::min(f.memory / 8, most));
}

class DeviceBackend final : public OpenClBackend {
public:
    DeviceBackend(DeviceFacts facts, int index, Options options)
        : m_name("opencl:" + std::to_string(index)), m_device(std::move(facts), options),
          m_weights(weightBytes(m_device.facts(), options)) {}

    std::string name() const override { return m_name; }
    std::string description() const override {
        const std::lock_guard lock(m_mutex);
        std::string text = factsText(m_device.facts());
        if (m_state == State::Works) {
            char difference[32];
            std::snprintf(difference, sizeof difference, "%.1e", m_difference);
            text += ", differs from the CPU by " + std::string(difference) + " of the largest number";
        } else if (m_state == State::Failed) {
            text += "; given up, the CPU computes: " + m_why;
        }
        return text;
    }
    std::string place() const override {
        const std::lock_guard lock(m_mutex);
        return m_state == State::Failed ? "CPU, " + m_name + " having failed" : m_device.facts().name;
    }
    std::optional<double> differenceFromCpu() const override {
        const std::lock_guard lock(m_mutex);
        return m_state == State::Works ? std::optional(m_difference) : std::nullopt;
    }
    bool works() const override { return ready(); }
    std::string why() const {
        const std::lock_guard lock(m_mutex);
        return m_why;
    }

    void linearInto(MatrixView x, const Weights& w, const Matrix* bias, MatrixWindow out) const override {
        if (ready() && attempt([&] { onDevice(x, w, bias, out); }))
            return;
        cpu().linearInto(x, w, bias, out);
    }

    bool columnsStandAlone() const override { return !usesClblast(); } // the library chooses by size

    HeadRows attend(const HeadProblem& p, int begin, int end, HeadWanted wanted) const override {
        HeadRows out;
        const auto tryDevice = [&] {
            const HeadTarget to = allocate(out, p, end - begin, wanted);
            const Device::Loan lane = m_device.lane();
            HeadRun run(*lane);
            run.begin(p);
            const int step = run.rowsPerBlock(p);
            for (int r = begin; r < end; r += step) {
                const int last = std::min(r + step, end);
                run.rows(r, last, to.rowRange(r - begin, last - begin));
            }
        };
        if (!HeadRun::canRun(p))
            return referenceBackend().attend(p, begin, end, wanted);
        if (ready() && attempt(tryDevice))
            return out;
        return cpu().attend(p, begin, end, wanted);
    }

    void attendAll(std::span<const HeadProblem> heads, std::span<const HeadTarget> targets, const VisitWeights& visit,
                   const std::stop_token& stop) const override {
        assert(heads.size() == targets.size());
        std::size_t h = 0;
        int done = 0; // rows of head h that are where they belong and were visited
        const auto tryDevice = [&] {
            const Device::Loan lane = m_device.lane();
            HeadRun run(*lane);
            Matrix scratch;
            for (; h < heads.size(); ++h, done = 0) {
                const HeadProblem& p = heads[h];
                if (!HeadRun::canRun(p)) {
                    allBy(referenceBackend(), heads, targets, h, 1, visit, stop);
                    continue;
                }
                run.begin(p);
                const int step = run.rowsPerBlock(p);
                while (done < p.q.rows) {
                    if (stop.stop_requested())
                        throw Cancelled();
                    const int end = std::min(done + step, p.q.rows);
                    HeadTarget to = targets[h].rowRange(done, end);
                    if (visit && !to.weights)
                        to.weights = scratch = Matrix(end - done, p.k.rows);
                    run.rows(done, end, to);
                    if (visit)
                        visit(static_cast<int>(h), done, to.weights);
                    done = end;
                }
            }
        };
        if (ready() && attempt(tryDevice))
            return;
        if (done > 0) {
            restBy(cpu(), heads[h], targets[h], static_cast<int>(h), done, visit);
            ++h;
        }
        for (; h < heads.size(); ++h)
            allBy(HeadRun::canRun(heads[h]) ? cpu() : referenceBackend(), heads, targets, h, 1, visit, stop);
    }

    void apply(Pointwise function, std::span<float> values) const override { cpu().apply(function, values); }

private:
    enum class State { New, Works, Failed };

    static const Backend& cpu() { return backendByName("cpu"); }

    static void allBy(const Backend& backend, std::span<const HeadProblem> heads, std::span<const HeadTarget> targets,
                      std::size_t first, std::size_t count, const VisitWeights& visit, const std::stop_token& stop) {
        VisitWeights shifted;
        if (visit)
            shifted = [&visit, first](int head, int begin, MatrixView weights) {
                visit(static_cast<int>(first) + head, begin, weights);
            };
        backend.attendAll(heads.subspan(first, count), targets.subspan(first, count), shifted, stop);
    }

    // The rows of one head that the device did not reach any more.
    static void restBy(const Backend& backend, const HeadProblem& p, const HeadTarget& target, int head, int begin,
                       const VisitWeights& visit) {
        const int n = p.q.rows;
        const HeadTarget to = target.rowRange(begin, n);
        const HeadRows rows = backend.attend(
            p, begin, n, {bool(to.scores), bool(to.scaled), bool(to.masked), to.weights || visit, bool(to.output)});
        for (const auto& [from, window] : {std::pair{&rows.scores, to.scores}, std::pair{&rows.scaled, to.scaled},
                                           std::pair{&rows.masked, to.masked}, std::pair{&rows.weights, to.weights},
                                           std::pair{&rows.output, to.output}})
            if (window)
                copyInto(*from, window);
        if (visit)
            visit(head, begin, rows.weights);
    }

    // Opens, compiles and compares once. False: the CPU computes.
    bool ready() const {
        const std::lock_guard lock(m_mutex);
        if (m_state == State::New) {
            try {
                const QuietStandardError quiet;
                m_device.compile();
                m_difference = selfTest([this](const SelfTest& t) {
                    onDevice(t.x, t.w, &t.bias, MatrixWindow(*t.product));
                    const Device::Loan lane = m_device.lane();
                    HeadRun run(*lane);
                    run.begin(t.problem);
                    run.rows(0, t.problem.q.rows, t.target);
                });
                if (!(m_difference <= tolerance)) {
                    char text[96];
                    std::snprintf(text, sizeof text, "its results differ from the CPU's by %.1e of the largest number",
                                  m_difference);
                    throw DeviceFailure(text);
                }
                m_state = State::Works;
            } catch (const DeviceFailure& failure) {
                giveUp(failure);
            }
        }
        return m_state == State::Works;
    }

    template<class Function>
    bool attempt(const Function& function) const {
        try {
            function();
            return true;
        } catch (const DeviceFailure& failure) {
            const std::lock_guard lock(m_mutex);
            giveUp(failure);
            return false;
        }
    }

    void giveUp(const DeviceFailure& failure) const { // m_mutex is held
        if (m_state != State::Failed)
            addNote("backend " + m_name + " (" + m_device.facts().name +
                    ") failed, the CPU computes instead: " + failure.what());
        m_state = State::Failed;
        m_why = failure.what();
        m_weights.clear();
    }

    bool usesClblast() const {
        using Library = Options::Library;
        const Library wanted = m_device.options().clblast;
        return wanted != Library::Never && (wanted == Library::Always || !m_device.facts().isCpu()) && hasClblast();
    }

    std::shared_ptr<const DeviceWeights> weightsOnDevice(Lane& lane, const Weights& w) const {
        if (auto kept = m_weights.find(w))
            return kept;
        const bool plain = usesClblast();
        const int panel = plain ? 1 : m_device.shape().panel, depth = w.view.rows;
        const std::int64_t largest = m_device.facts().largestBuffer / (std::int64_t{4} * depth);
        const int most = static_cast<int>(std::min<std::int64_t>(largest, 1 << 24) / panel * panel);
        if (most == 0)
            throw DeviceFailure("a weight matrix of " + std::to_string(depth) + " rows fits into no buffer");
        auto made = std::make_shared<DeviceWeights>();
        made->largest = largestOf(w.view);
        for (int begin = 0; begin < w.view.cols; begin += most) {
            const int end = std::min(begin + most, w.view.cols);
            const int width = padded(end - begin, panel);
            std::vector<float>& packed = lane.staging(static_cast<std::size_t>(depth) * width);
            const MatrixView columns = w.view.colRange(begin, end);
            if (plain)
                packLeft(columns, depth, packed.data());
            else
                packRight(columns, panel, packed.data());
            const std::size_t bytes = packed.size() * sizeof(float);
            Buffer buffer = m_device.allocate(bytes, "a weight matrix");
            lane.write(buffer.get(), packed.data(), bytes);
            made->bytes += bytes;
            made->strips.push_back({begin, end, width, std::move(buffer)});
        }
        m_weights.keep(w, made);
        return made;
    }

    void onDevice(MatrixView x, const Weights& w, const Matrix* bias, MatrixWindow out) const {
        if (x.rows == 0 || x.cols == 0 || out.cols == 0)
            return referenceBackend().linearInto(x, w, bias, out);
        const Device::Loan lane = m_device.lane();
        const auto weights = weightsOnDevice(*lane, w);
        if (!(double{largestOf(x)} * weights->largest * x.cols < 1e37))
            return referenceBackend().linearInto(x, w, bias, out);
        for (const DeviceWeights::Strip& strip : weights->strips) {
            const MatrixWindow columns = out.colRange(strip.begin, strip.end);
            const std::span<const float> biases = bias ? bias->values().subspan(static_cast<std::size_t>(strip.begin),
                                                                                static_cast<std::size_t>(columns.cols))
                                                       : std::span<const float>();
            if (usesClblast())
                multiplyByLibrary(*lane, x, strip, biases, columns);
            else
                multiply(*lane, x, strip, biases, columns);
        }
    }

    void multiply(Lane& lane, MatrixView x, const DeviceWeights::Strip& strip, std::span<const float> bias,
                  MatrixWindow out) const {
        const Shape& shape = m_device.shape();
        cl_mem biases = nullptr;
        if (!bias.empty()) {
            std::vector<float>& filled = lane.staging(static_cast<std::size_t>(strip.width));
            std::fill(std::ranges::copy(bias, filled.begin()).out, filled.end(), 0.0F);
            biases = lane.scratch(Lane::Bias, filled.size() * sizeof(float));
            lane.write(biases, filled.data(), filled.size() * sizeof(float));
        }
        const int step = std::max(padded(4 * shape.blockCells / std::max(strip.width, x.cols), shape.rows), shape.rows);
        for (int begin = 0; begin < x.rows; begin += step) {
            const int end = std::min(begin + step, x.rows), rows = padded(end - begin, shape.rows);
            cl_mem left = writeLeft(lane, x.rowRange(begin, end), rows);
            cl_mem result = lane.scratch(Lane::Out, std::size_t{sizeof(float)} * rows * strip.width);
            lane.setProduct(left, x.cols, strip.buffer.get(), x.cols, result, rows, strip.width, biases, biases ? 1 : 0,
                            cl_mem{}, 0);
            lane.runProduct(rows, strip.width);
            lane.read(result, strip.width, out.rowRange(begin, end));
        }
    }

    void multiplyByLibrary(Lane& lane, MatrixView x, const DeviceWeights::Strip& strip, std::span<const float> bias,
                           MatrixWindow out) const {
        for (int begin = 0; begin < x.rows; begin += clblastRows) {
            const int end = std::min(begin + clblastRows, x.rows);
            cl_mem left = writeLeft(lane, x.rowRange(begin, end), clblastRows);
            cl_mem result = lane.scratch(Lane::Out, std::size_t{sizeof(float)} * clblastRows * strip.width);
            cl_int status = CL_SUCCESS;
            multiplyByClblast(lane.queue(), left, strip.buffer.get(), result, clblastRows, strip.width, x.cols, status);
            m_device.check(status, "CLBlast");
            lane.read(result, strip.width, out.rowRange(begin, end));
            for (int r = begin; !bias.empty() && r < end; ++r)
                for (int c = 0; c < out.cols; ++c)
                    out.row(r)[static_cast<std::size_t>(c)] += bias[static_cast<std::size_t>(c)];
        }
    }

    static cl_mem writeLeft(Lane& lane, MatrixView rows, int paddedRows) {
        std::vector<float>& packed = lane.staging(static_cast<std::size_t>(paddedRows) * rows.cols);
        packLeft(rows, paddedRows, packed.data());
        cl_mem left = lane.scratch(Lane::Left, packed.size() * sizeof(float));
        lane.write(left, packed.data(), packed.size() * sizeof(float));
        return left;
    }

    std::string m_name;
    mutable Device m_device; // a device is a service: calls do not change what it computes
    mutable WeightCache m_weights;
    mutable std::mutex m_mutex;
    mutable State m_state = State::New;
    mutable std::string m_why;
    mutable double m_difference = 0;
};

// Devices and their backends, found once; never torn down, since drivers do not outlive the end of main.
struct Registry {
    std::vector<DeviceFacts> devices = listDevices();
    std::map<int, std::unique_ptr<DeviceBackend>> backends;
    std::mutex mutex;

    const DeviceBackend& backend(int index) {
        const std::lock_guard lock(mutex);
        std::unique_ptr<DeviceBackend>& b = backends[index];
        if (!b)
            b = std::make_unique<DeviceBackend>(devices[static_cast<std::size_t>(index)], index,
                                                Options::fromEnvironment());
        return *b;
    }
};

Registry& registry() {
    static Registry& r = *new Registry;
    return r;
}

std::string whyNoDevice() {
    const std::string missing = whyNoApi();
    return missing.empty() ? "no OpenCL driver is installed (pocl-opencl-icd runs on the CPU, a graphics card brings "
                             "its own)"
                           : missing;
}

} // namespace

} // namespace opencl

std::vector<BackendInfo> listOpenClBackends() {
    auto& known = opencl::registry();
    if (known.devices.empty())
        return {{"opencl", "OpenCL devices", false, opencl::whyNoDevice()}};
    std::vector<BackendInfo> list;
    for (int i = 0; i < static_cast<int>(known.devices.size()); ++i) {
        const opencl::DeviceFacts& facts = known.devices[static_cast<std::size_t>(i)];
        BackendInfo info{"opencl:" + std::to_string(i), opencl::factsText(facts), false, facts.why};
        if (facts.why.empty()) {
            const auto& backend = known.backend(i);
            info.available = backend.works();
            if (info.available)
                info.description = backend.description();
            else
                info.why = backend.why();
        }
        list.push_back(std::move(info));
    }
    return list;
}

const Backend& openClBackendByName(std::string_view name) {
    auto& known = opencl::registry();
    const int count = static_cast<int>(known.devices.size());
    const std::string quoted = "backend '" + std::string(name) + "' cannot be used: ";
    if (count == 0)
        throw InputError(quoted + opencl::whyNoDevice() + "; use --backend cpu or auto");
    int index = -1;
    if (name == "opencl") {
        for (int i = count; i-- > 0;) {
            const opencl::DeviceFacts& f = known.devices[static_cast<std::size_t>(i)];
            if (f.why.empty() && (index < 0 || !f.isCpu() || known.devices[static_cast<std::size_t>(index)].isCpu()))
                index = i;
        }
        if (index < 0)
            throw InputError(quoted + "no device is usable (headscope devices says why); use --backend cpu or auto");
    } else {
        const std::string_view digits = name.substr(name.find(':') + 1);
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
        if (error != std::errc() || end != digits.data() + digits.size() || index < 0 || index >= count)
            throw InputError(quoted + "expected opencl:N with N from 0 to " + std::to_string(count - 1) +
                             " (headscope devices lists them)");
    }
    const std::string& why = known.devices[static_cast<std::size_t>(index)].why;
    if (!why.empty())
        throw InputError(quoted + why + "; use --backend cpu or auto");
    return known.backend(index);
}

std::unique_ptr<OpenClBackend> makeOpenClBackend(int device, opencl::Options options) {
    const auto& devices = opencl::registry().devices;
    if (device < 0 || device >= static_cast<int>(devices.size()) ||
        !devices[static_cast<std::size_t>(device)].why.empty())
        return nullptr;
    return std::make_unique<opencl::DeviceBackend>(devices[static_cast<std::size_t>(device)], device, options);
}

} // namespace headscope
