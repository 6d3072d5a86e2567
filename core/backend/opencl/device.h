// Device: one OpenCL device, its compiled kernels, and lanes to work in. Compiled on first use, since that takes
// seconds on some drivers. What it is not: a backend; it knows buffers and kernels, not heads. Inside
// core/backend/opencl.
#pragma once

#include "core/backend/opencl/api.h"
#include "core/backend/opencl/options.h"
#include "core/tensor/matrix_window.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

namespace headscope::opencl {

// What `devices` lists.
struct DeviceFacts {
    cl_device_id id = nullptr;
    std::string name, platform, driver;
    cl_device_type type = 0;
    std::int64_t memory = 0, largestBuffer = 0; // bytes
    std::size_t largestGroup = 1;               // work-items
    int vectorWidth = 1;                        // floats, as the device prefers them
    std::string why;                            // it cannot be used; empty: it can
    bool isCpu() const { return (type & CL_DEVICE_TYPE_CPU) != 0; }
};
std::vector<DeviceFacts> listDevices(); // of all platforms, in their order: the N of opencl:N

// How the kernels are compiled and started on a device.
struct Shape {
    int w = 4, vectors = 1, rows = 4, panel = 64; // the constants of kernels.cl
    std::array<std::size_t, 2> productGroup{1, 1};
    std::size_t finishGroup = 1; // work-items that share a row
    int blockCells = 1 << 20;    // cells of scores that are on the device at once
};

class Device;

// Everything that one call needs for itself: a queue, kernels (setting arguments is not thread-safe) and buffers that
// are kept for the next call.
class Lane {
public:
    explicit Lane(Device& device);
    Device& device() const { return m_device; }
    cl_command_queue queue() const { return m_queue.get(); }

    enum Slot { Left, Right, Values, Open, Relative, Additive, Bias, Cells, Out, SlotCount };
    cl_mem scratch(Slot slot, std::size_t bytes);  // at least that large; the contents are lost when it grows
    std::vector<float>& staging(std::size_t size); // for what is written next

    // Both block. offset in bytes; stride: floats from row to row on the device.
    void write(cl_mem to, const void* from, std::size_t bytes, std::size_t offset = 0);
    void read(cl_mem from, std::ptrdiff_t stride, MatrixWindow to);
    template<class... Arguments>
    void setProduct(const Arguments&... arguments) {
        setAll(m_product.get(), arguments...);
    }
    void runProduct(int rows, int width); // rows a multiple of the shape's rows, width of its panel
    template<class... Arguments>
    void setFinish(const Arguments&... arguments) {
        setAll(m_finish.get(), arguments...);
    }
    void runFinish(int rows); // sets the last argument, the shared memory, itself

private:
    template<class... Arguments>
    void setAll(cl_kernel kernel, const Arguments&... arguments) {
        cl_uint index = 0;
        // A buffer is passed by its handle, so that the size is that of a pointer.
        (set(kernel, index++, sizeof(Arguments), &arguments), ...); // NOLINT(bugprone-sizeof-expression)
    }
    void set(cl_kernel kernel, cl_uint index, std::size_t size, const void* value);

    Device& m_device;
    Queue m_queue;
    Kernel m_product, m_finish;
    struct Slotted {
        Buffer buffer;
        std::size_t bytes = 0;
    };
    std::array<Slotted, SlotCount> m_scratch;
    std::vector<float> m_staging;
};

class Device {
public:
    Device(DeviceFacts facts, Options options);

    const DeviceFacts& facts() const { return m_facts; }
    const Shape& shape() const { return m_shape; }
    const Options& options() const { return m_options; }
    void compile(); // once; the others may be called from then on

    Buffer allocate(std::size_t bytes, const char* what);
    // Borrowed until the pointer dies. A lane that saw a failure is not given out again.
    class Loan {
    public:
        Loan(Device& device, std::unique_ptr<Lane> lane) : m_device(device), m_lane(std::move(lane)) {}
        ~Loan();
        Loan(const Loan&) = delete;
        Loan& operator=(const Loan&) = delete;
        Lane& operator*() const { return *m_lane; }
        Lane* operator->() const { return m_lane.get(); }

    private:
        Device& m_device;
        std::unique_ptr<Lane> m_lane;
        int m_exceptions = std::uncaught_exceptions();
    };
    Loan lane();

    void check(cl_int status, std::string_view doing); // throws DeviceFailure "doing: CL_..."

private:
    friend class Lane;
    DeviceFacts m_facts;
    Options m_options;
    Shape m_shape;
    Context m_context;
    Program m_program;
    std::mutex m_lanesMutex;
    std::vector<std::unique_ptr<Lane>> m_lanes; // idle ones
    std::atomic<int> m_calls = 0;               // for Options::failAfter
};

} // namespace headscope::opencl
